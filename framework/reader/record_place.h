// SPDX-License-Identifier: Apache-2.0
// Where a record comes from, for errors of readers above that work on it.
#ifndef MILLHOPPER_FRAMEWORK_READER_RECORD_PLACE_H_
#define MILLHOPPER_FRAMEWORK_READER_RECORD_PLACE_H_

#include <utility>

#include "framework/base/error.h"
#include "framework/base/lane_context.h"
#include "framework/reader/ticket.h"

namespace millhopper {

class FileReader;

// Notes which record of a file the calling thread loads, until Stop. A reader that loads one
// element and then works on it names the file by this if the work fails. Of a batch it is the
// record that the thread loads first, or none.
class RecordPlace {
 public:
  RecordPlace() : before_(std::exchange(ThisLane().place, this)) {}
  ~RecordPlace() { ThisLane().place = before_; }
  RecordPlace(const RecordPlace&) = delete;
  RecordPlace& operator=(const RecordPlace&) = delete;

  // Forgets the record, and notes the next one.
  void Restart() {
    reader_ = nullptr;
    stopped_ = false;
  }
  // The element is loaded. Records that the thread loads later, while it works on the element (by a
  // function that reads other files), are not noted.
  void Stop() { stopped_ = true; }
  // The error with file, byte and record, if a record was loaded. The run that holds its ticket
  // must live still.
  Error Named(const Error& error) const;
  // Called by a reader of files for what it loads. Notes it in all places of the thread, since
  // several readers may work on an element.
  static void Note(const FileReader* reader, const Ticket& ticket) {
    for (RecordPlace* place = ThisLane().place; place != nullptr && !place->stopped_;
         place = place->before_) {
      if (place->reader_ != nullptr) continue;
      place->reader_ = reader;
      place->ticket_ = ticket;
    }
  }

 private:
  RecordPlace* const before_;
  bool stopped_ = false;
  const FileReader* reader_ = nullptr;
  Ticket ticket_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_RECORD_PLACE_H_
