// SPDX-License-Identifier: Apache-2.0
// create_number_source: the sources of tests/fakes/sources.h, for programs in tests.
#include <memory>
#include <utility>

#include "operators/readers/support/reader_creation.h"
#include "tests/chains/number_source.h"

namespace millhopper {
namespace {

std::shared_ptr<Ledger>& LedgerInUse() {
  static auto* const ledger = new std::shared_ptr<Ledger>;
  return *ledger;
}

OpSchema NumberSourceSchema() {
  return ReaderCreationSchema("Yields numbers that are in no file, late and wrong on demand.")
      .Attr(AttributeSchema("records", int64_t{}, "how many").Required().AtLeast(0))
      .Attr({"plan_error", int64_t{-1}, "this record cannot be planned"})
      .Attr({"load_error", int64_t{-1}, "this record cannot be loaded"})
      .Attr({"ragged", false, "record n is n % 4 rows with a level of detail"})
      .Attr({"sequential", false, "records are made one by one"})
      .Attr({"jitter", int64_t{0}, "seeds random pauses; 0 is none"});
}

void CreateNumberSource(OpContext& context) {
  SourceSpec spec;
  spec.records = context.Attr<int64_t>("records");
  spec.plan_error = context.Attr<int64_t>("plan_error");
  spec.load_error = context.Attr<int64_t>("load_error");
  spec.ragged = context.Attr<bool>("ragged");
  spec.jitter = static_cast<uint64_t>(context.Attr<int64_t>("jitter"));
  spec.ledger = LedgerInUse();
  StoreReader(context, context.Attr<bool>("sequential") ? MakeSequentialSource(spec)
                                                        : MakePlannedSource(spec));
}

REGISTER_OPERATOR(create_number_source, NumberSourceSchema, CreateNumberSource);

}  // namespace

void CountLoads(std::shared_ptr<Ledger> ledger) { LedgerInUse() = std::move(ledger); }

}  // namespace millhopper
