#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/forward.h"

namespace sluice {
namespace {

void add_bias(float* row, const float* bias, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) row[i] += bias[i];
}

std::int64_t first_position(const AttentionSpec& spec, std::int64_t position) {
  return spec.window > 0 ? std::max<std::int64_t>(0, position - spec.window + 1) : 0;
}

}  // namespace

void Projector::run(const char* region, const float* x, std::int64_t rows, std::int64_t cols,
                    std::span<const Projection> projections) {
  std::size_t stride[2] = {0, 0};
  for (const Projection& projection : projections) {
    const ActFormat format = kernels_.act_format(projection.weight->dtype);
    const auto f = static_cast<std::size_t>(format);
    if (stride[f] != 0) continue;
    stride[f] = kernels_.packed_row_bytes(format, cols);
    std::byte* packed = packed_[f].resize(static_cast<std::int64_t>(stride[f]) * rows);
    pool_.parallel_for("pack", rows, 8, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t r = begin; r < end; ++r) {
        kernels_.pack_row(format, x + r * cols, cols, packed + static_cast<std::size_t>(r) * stride[f]);
      }
    });
  }

  std::int64_t total = 0;
  for (const Projection& projection : projections) total += projection.weight->rows;
  const std::int64_t grain = std::clamp<std::int64_t>(total / (8 * pool_.size()), 16, 256);
  pool_.parallel_for(region, total, grain, [&](std::int64_t begin, std::int64_t end, int) {
    std::int64_t base = 0;
    for (const Projection& projection : projections) {
      const WeightView& weight = *projection.weight;
      const std::int64_t lo = std::max<std::int64_t>(begin - base, 0);
      const std::int64_t hi = std::min<std::int64_t>(end - base, weight.rows);
      base += weight.rows;
      if (lo >= hi) continue;
      const auto f = static_cast<std::size_t>(kernels_.act_format(weight.dtype));
      kernels_.matmul(weight, packed_[f].get(), stride[f], rows, lo, hi, projection.out, weight.rows);
      if (projection.bias == nullptr) continue;
      for (std::int64_t r = 0; r < rows; ++r) add_bias(projection.out + r * weight.rows, projection.bias, lo, hi);
    }
  });
}

void Attention::prepare(std::span<const BatchRow> rows) {
  const std::int64_t dim = rope_.dim();
  float* angles = angles_.resize(static_cast<std::int64_t>(rows.size()) * dim);
  pool_.parallel_for("rope_angles", static_cast<std::int64_t>(rows.size()), 16,
                     [&](std::int64_t begin, std::int64_t end, int) {
                       for (std::int64_t t = begin; t < end; ++t) {
                         float* row = angles + t * dim;
                         rope_.angles(rows[static_cast<std::size_t>(t)].position, row, row + dim / 2);
                       }
                     });
  scores_.resize(static_cast<std::size_t>(pool_.size()));
  packed_.resize(static_cast<std::size_t>(pool_.size()));
}

void Attention::run(std::size_t layer, const AttentionSpec& spec, const AttentionWeights& weights, const float* x,
                    std::span<const BatchRow> rows, float* out) {
  const auto count = static_cast<std::int64_t>(rows.size());
  heads_out_.resize(count * spec.heads * spec.value_dim);
  if (spec.mla) {
    run_mla(layer, spec, weights, x, rows);
  } else {
    run_gqa(layer, spec, weights, x, rows);
  }
  const Projection output = {&weights.o, weights.o_bias, out};
  projector_.run("attention_output", heads_out_.get(), count, spec.heads * spec.value_dim, {&output, 1});
}

void Attention::run_gqa(std::size_t layer, const AttentionSpec& spec, const AttentionWeights& weights, const float* x,
                        std::span<const BatchRow> rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t q_width = spec.heads * spec.head_dim;
  const std::int64_t k_width = spec.kv_heads * spec.head_dim;
  const std::int64_t v_width = spec.kv_heads * spec.value_dim;
  float* q = q_.resize(count * q_width);
  float* k = kv_.resize(count * (k_width + v_width));
  float* v = k + count * k_width;
  const Projection projections[] = {
      {&weights.q, weights.q_bias, q}, {&weights.k, weights.k_bias, k}, {&weights.v, weights.v_bias, v}};
  projector_.run("attention_qkv", x, count, hidden_, projections);

  pool_.parallel_for("attention_rope", count, 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t t = begin; t < end; ++t) {
      const auto row = static_cast<std::size_t>(t);
      float* q_row = q + t * q_width;
      float* k_row = k + t * k_width;
      float* v_row = v + t * v_width;
      if (spec.qk_norm == QkNorm::kFullWidth) {
        kernels_.rms_norm(q_row, weights.q_norm, q_width, eps_, q_row);
        kernels_.rms_norm(k_row, weights.k_norm, k_width, eps_, k_row);
      }
      if (spec.clip_qkv > 0.0) {
        const auto limit = static_cast<float>(spec.clip_qkv);
        for (std::int64_t i = 0; i < q_width; ++i) q_row[i] = std::clamp(q_row[i], -limit, limit);
        for (std::int64_t i = 0; i < k_width; ++i) k_row[i] = std::clamp(k_row[i], -limit, limit);
        for (std::int64_t i = 0; i < v_width; ++i) v_row[i] = std::clamp(v_row[i], -limit, limit);
      }
      for (std::int64_t h = 0; h < spec.heads; ++h) {
        float* head = q_row + h * spec.head_dim;
        if (spec.qk_norm == QkNorm::kPerHead) kernels_.rms_norm(head, weights.q_norm, spec.head_dim, eps_, head);
        rope_.rotate(head, cos(row), sin(row));
      }
      for (std::int64_t h = 0; h < spec.kv_heads; ++h) {
        float* head = k_row + h * spec.head_dim;
        if (spec.qk_norm == QkNorm::kPerHead) kernels_.rms_norm(head, weights.k_norm, spec.head_dim, eps_, head);
        rope_.rotate(head, cos(row), sin(row));
      }
      float* cached = rows[row].cache->row(layer, rows[row].position);
      std::memcpy(cached, k_row, static_cast<std::size_t>(k_width) * sizeof(float));
      std::memcpy(cached + k_width, v_row, static_cast<std::size_t>(v_width) * sizeof(float));
    }
  });
  attend(layer, spec, weights.sinks, q, spec.head_dim, spec.kv_heads, k_width, spec.value_dim, rows, heads_out_.get());
}

void Attention::run_mla(std::size_t layer, const AttentionSpec& spec, const AttentionWeights& weights, const float* x,
                        std::span<const BatchRow> rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t latent = spec.kv_lora_rank;
  const std::int64_t q_width = spec.heads * spec.head_dim;
  const std::int64_t key_dim = latent + spec.rope_dim;
  const float latent_eps = spec.latent_eps > 0.0F ? spec.latent_eps : eps_;
  float* q = q_.resize(count * q_width);
  float* kv = kv_.resize(count * key_dim);
  if (spec.q_lora_rank > 0) {
    float* q_a = q_a_.resize(count * spec.q_lora_rank);
    const Projection first[] = {{&weights.q_a, weights.q_bias, q_a}, {&weights.kv_a, weights.kv_a_bias, kv}};
    projector_.run("attention_qkv", x, count, hidden_, first);
    for (std::int64_t t = 0; t < count; ++t) {
      float* row = q_a + t * spec.q_lora_rank;
      kernels_.rms_norm(row, weights.q_a_norm, spec.q_lora_rank, latent_eps, row);
    }
    const Projection second = {&weights.q_b, nullptr, q};
    projector_.run("attention_q_b", q_a, count, spec.q_lora_rank, {&second, 1});
  } else {
    const Projection first[] = {{&weights.q, nullptr, q}, {&weights.kv_a, weights.kv_a_bias, kv}};
    projector_.run("attention_qkv", x, count, hidden_, first);
  }

  // The cache row is the normalised latent and the rotated key. Carrying q into the latent space (q W_k) makes scores
  // plain dot products with cache rows: attention with one kv head of width latent + rope (DeepSeek-V2, 2.1.2).
  float* q_latent = q_latent_.resize(count * spec.heads * key_dim);
  pool_.parallel_for("attention_latent", count, 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t t = begin; t < end; ++t) {
      const auto row = static_cast<std::size_t>(t);
      float* kv_row = kv + t * key_dim;
      kernels_.rms_norm(kv_row, weights.kv_a_norm, latent, latent_eps, kv_row);
      rope_.rotate(kv_row + latent, cos(row), sin(row));
      std::memcpy(rows[row].cache->row(layer, rows[row].position), kv_row,
                  static_cast<std::size_t>(key_dim) * sizeof(float));
      for (std::int64_t h = 0; h < spec.heads; ++h) {
        float* rope_part = q + t * q_width + h * spec.head_dim + spec.nope_dim;
        rope_.rotate(rope_part, cos(row), sin(row));
        std::memcpy(q_latent + (t * spec.heads + h) * key_dim + latent, rope_part,
                    static_cast<std::size_t>(spec.rope_dim) * sizeof(float));
      }
    }
  });

  // Per head, over all rows: out[t, h, :] = matrix[h] * in[t, h, :].
  const auto per_head = [&](const char* region, const std::vector<WeightView>& matrices, const float* in,
                            std::int64_t in_stride, std::int64_t in_head, std::int64_t cols, float* out,
                            std::int64_t out_stride, std::int64_t out_head) {
    pool_.parallel_for(region, spec.heads, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      for (std::int64_t h = begin; h < end; ++h) {
        const WeightView& matrix = matrices[static_cast<std::size_t>(h)];
        const ActFormat format = kernels_.act_format(matrix.dtype);
        const std::size_t stride = kernels_.packed_row_bytes(format, cols);
        std::byte* packed = packed_[static_cast<std::size_t>(thread)].resize(count * static_cast<std::int64_t>(stride));
        for (std::int64_t t = 0; t < count; ++t) {
          kernels_.pack_row(format, in + t * in_stride + h * in_head, cols,
                            packed + static_cast<std::size_t>(t) * stride);
        }
        kernels_.matmul(matrix, packed, stride, count, 0, matrix.rows, out + h * out_head, out_stride);
      }
    });
  };
  per_head("attention_absorb_q", weights.k_b, q, q_width, spec.head_dim, spec.nope_dim, q_latent, spec.heads * key_dim,
           key_dim);
  float* latent_out = latent_out_.resize(count * spec.heads * latent);
  attend(layer, spec, weights.sinks, q_latent, key_dim, 1, 0, latent, rows, latent_out);
  per_head("attention_values", weights.v_b, latent_out, spec.heads * latent, latent, latent, heads_out_.get(),
           spec.heads * spec.value_dim, spec.value_dim);
}

void Attention::attend(std::size_t layer, const AttentionSpec& spec, const float* sinks, const float* q,
                       std::int64_t key_dim, std::int64_t kv_heads, std::int64_t value_offset, std::int64_t value_dim,
                       std::span<const BatchRow> rows, float* out) {
  const std::int64_t group = spec.heads / kv_heads;
  const auto scale = static_cast<float>(spec.scale);
  const auto items = static_cast<std::int64_t>(rows.size()) * spec.heads;
  pool_.parallel_for("attention", items, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
    for (std::int64_t item = begin; item < end; ++item) {
      const BatchRow& row = rows[static_cast<std::size_t>(item / spec.heads)];
      const std::int64_t head = item % spec.heads;
      const std::int64_t kv_head = head / group;
      const std::int64_t first = first_position(spec, row.position);
      const std::int64_t count = row.position + 1 - first;
      const std::int64_t stride = row.cache->row_floats(layer);
      // Scores, and behind them room for one block's weighted values.
      float* scores = scores_[static_cast<std::size_t>(thread)].resize(count + value_dim);
      float* partial = scores + count;
      const float* query = q + item * key_dim;
      float* result = out + item * value_dim;

      // Runs of positions that lie in one block of the cache.
      const auto for_each_run = [&](const auto& body) {
        for (std::int64_t p = first; p <= row.position;) {
          const std::int64_t n = std::min(row.position + 1, (p / KvCache::kBlock + 1) * KvCache::kBlock) - p;
          body(p, n, row.cache->row(layer, p));
          p += n;
        }
      };
      for_each_run([&](std::int64_t p, std::int64_t n, const float* data) {
        kernels_.attend_scores(query, data + kv_head * key_dim, stride, n, key_dim, scale, scores + (p - first));
      });
      kernels_.softmax(scores, count, sinks == nullptr ? nullptr : sinks + head);
      bool started = false;
      for_each_run([&](std::int64_t p, std::int64_t n, const float* data) {
        const float* values = data + value_offset + kv_head * value_dim;
        kernels_.attend_values(scores + (p - first), values, stride, n, value_dim, started ? partial : result);
        if (started) kernels_.add(partial, value_dim, result);
        started = true;
      });
    }
  });
}

}  // namespace sluice
