// The committed vectors meet few of the codebooks' entries, so the generated numbers are also held to a checksum of the
// tables that decoded all of the shared vectors.
#include "quant/iq_tables.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

namespace sluice {
namespace {

// FNV-1a over the entries' bytes, lowest first.
template <typename Entry, std::size_t N>
std::uint64_t checksum(const Entry (&table)[N]) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const Entry entry : table) {
    for (std::size_t byte = 0; byte < sizeof(Entry); ++byte) {
      hash = (hash ^ (entry >> 8 * byte & 0xFFU)) * 0x100000001B3U;
    }
  }
  return hash;
}

template <typename Entry, std::size_t N>
std::size_t distinct(const Entry (&table)[N]) {
  return std::set<Entry>(table, table + N).size();
}

TEST(IqTables, Checksums) {
  EXPECT_EQ(checksum(kIq2XxsGrid), 0xBB4EE025B5AC6E8EU);
  EXPECT_EQ(checksum(kIq2XsGrid), 0xC9B1EE61E79909BDU);
  EXPECT_EQ(checksum(kIq2SGrid), 0x123EDD38A3B62B90U);
  EXPECT_EQ(checksum(kIq3XxsGrid), 0xDFA5DC83D6A155D5U);
  EXPECT_EQ(checksum(kIq3SGrid), 0xFA37020C25B44829U);
  EXPECT_EQ(checksum(kIq1Grid), 0x6703ED863501AE2EU);
}

TEST(IqTables, NoEntryTwice) {
  EXPECT_EQ(distinct(kIq2XxsGrid), 256U);
  EXPECT_EQ(distinct(kIq2XsGrid), 512U);
  EXPECT_EQ(distinct(kIq2SGrid), 1024U);
  EXPECT_EQ(distinct(kIq3XxsGrid), 256U);
  EXPECT_EQ(distinct(kIq3SGrid), 512U);
  EXPECT_EQ(distinct(kIq1Grid), 2048U);
}

TEST(IqTables, SignsHaveEvenParity) {
  for (std::size_t code = 0; code < kIqSigns.size(); ++code) {
    EXPECT_EQ(kIqSigns[code] & 127U, code);
    EXPECT_EQ(std::popcount(kIqSigns[code]) % 2, 0) << code;
  }
}

}  // namespace
}  // namespace sluice
