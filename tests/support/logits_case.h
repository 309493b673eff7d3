// Running a model over token sequences and comparing logits; shared by the golden tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/env.h"
#include "checkpoint/checkpoint.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "model/model.h"

namespace sluice::testing {

inline std::vector<float> read_f32(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// Every instruction set that this machine runs.
inline std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (int i = 0; i < kIsaCount; ++i) {
    if (isa_available(static_cast<Isa>(i))) isas.push_back(static_cast<Isa>(i));
  }
  return isas;
}

struct RoutingRecord {
  std::int64_t layer;
  std::int64_t token;
  std::vector<std::int32_t> experts;
  std::vector<float> weights;
};

// A model with its threads.
struct LoadedForTest {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Model> model;

  static LoadedForTest load(const std::string& path, Isa isa, int threads = 2) {
    LoadedForTest out;
    auto checkpoint = open_checkpoint(Env::system(), path);
    if (!checkpoint.ok()) {
      ADD_FAILURE() << checkpoint.error().message();
      return out;
    }
    out.pool = std::make_unique<ThreadPool>(threads);
    ModelOptions options;
    options.wishes.isa = isa;
    auto model = Model::load(*checkpoint, options, *out.pool);
    if (!model.ok()) {
      ADD_FAILURE() << model.error().message();
      return out;
    }
    out.model = std::move(model).value();
    return out;
  }

  // Logits [tokens, vocab] of a fresh sequence, evaluated in batches of `batch`.
  std::vector<float> logits(std::span<const std::int32_t> tokens, std::int64_t batch,
                            std::vector<RoutingRecord>* routing = nullptr) {
    const auto vocab = static_cast<std::size_t>(model->spec().vocab_size);
    std::vector<float> out(tokens.size() * vocab);
    KvCache cache(model->spec(), static_cast<std::int64_t>(tokens.size()));
    for (std::size_t done = 0; done < tokens.size();) {
      const std::size_t count = std::min(static_cast<std::size_t>(batch), tokens.size() - done);
      const SequenceTokens item = {&cache, tokens.subspan(done, count), WantLogits::kAll};
      LayerRoutingObserver observer;
      if (routing != nullptr) {
        observer = [&](std::int64_t layer, std::int64_t rows, std::int32_t top_k, const moe::GlobalExpert* ids,
                       const float* weights) {
          for (std::int64_t t = 0; t < rows; ++t) {
            RoutingRecord record = {layer, static_cast<std::int64_t>(done) + t, {}, {}};
            for (std::int32_t k = 0; k < top_k; ++k) {
              record.experts.push_back(moe::index(ids[t * top_k + k]));
              record.weights.push_back(weights[t * top_k + k]);
            }
            routing->push_back(std::move(record));
          }
        };
      }
      const Status status = model->forward(
          {&item, 1},
          [&](std::int64_t row, std::span<const float> values) {
            std::copy(values.begin(), values.end(),
                      out.begin() + static_cast<std::ptrdiff_t>((done + static_cast<std::size_t>(row)) * vocab));
          },
          observer);
      if (!status.ok()) {
        ADD_FAILURE() << status.error().message();
        return out;
      }
      done += count;
    }
    return out;
  }
};

struct Difference {
  double max = 0.0;
  double median = 0.0;
  double rms = 0.0;
  std::size_t worst = 0;
};

inline Difference compare(std::span<const float> got, std::span<const float> want) {
  Difference d;
  std::vector<double> all(got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    all[i] = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    if (!(all[i] <= d.max)) {  // NaN counts as the worst
      d.max = all[i];
      d.worst = i;
    }
    d.rms += all[i] * all[i];
  }
  if (all.empty()) return d;
  d.rms = std::sqrt(d.rms / static_cast<double>(all.size()));
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  d.median = all[all.size() / 2];
  return d;
}

// Best id and the distance to the second best logit.
inline std::pair<std::size_t, double> top1(std::span<const float> row) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i] > row[best]) best = i;
  }
  double margin = INFINITY;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i != best) margin = std::min(margin, static_cast<double>(row[best]) - static_cast<double>(row[i]));
  }
  return {best, margin};
}

}  // namespace sluice::testing
