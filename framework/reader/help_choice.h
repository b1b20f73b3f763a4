// SPDX-License-Identifier: Apache-2.0
// Decides by measuring whether a consumer that would have to wait for a worker works itself.
#ifndef MILLHOPPER_FRAMEWORK_READER_HELP_CHOICE_H_
#define MILLHOPPER_FRAMEWORK_READER_HELP_CHOICE_H_

#include <algorithm>
#include <array>
#include <atomic>

namespace millhopper {

// A consumer that makes an element while a worker makes another one saves time, but moves records
// and buffers into the cache of its own processor, from where the worker has to get them back.
// Where two processors share no cache, that may cost twice the time that is saved. So both ways are
// tried now and then, and the consumer waits if that is clearly faster. A consumer that gets every
// element that a worker makes also waits if it waits for little of its time: there is little to
// gain, and the trials alone would cost as much. For other consumers that rule made `bucket`
// slower.
//
// Note and Restart: one thread at a time. Helps: any thread.
class HelpChoice {
 public:
  explicit HelpChoice(bool gets_every_element) : gets_every_element_(gets_every_element) {}

  // The consumer gets an element (or several that are made together) at this time, in seconds.
  // `waited` is for how long it has waited so far, counted from any time.
  void Note(double now, double waited) {
    if (noted_ >= kTrial && now - begin_ >= (gets_every_element_ ? kTrialSeconds : 0)) {
      End((now - begin_) / noted_, (waited - waited_) / noted_);
      noted_ = 0;
    }
    if (noted_++ > 0) return;
    begin_ = now;
    waited_ = waited;
  }

  // A pass begins: forgets the running trial, in which the consumer may have paused for long.
  void Restart() { noted_ = 0; }

  // Whether a consumer that has waited so many seconds works itself. A worker that takes far longer
  // than usual is not waited for.
  bool Helps(double waited) const {
    return helps_.load(std::memory_order_relaxed) ||
           waited > kPatience * usual_.load(std::memory_order_relaxed);
  }

 private:
  // A trial takes so many elements, and so long that what lies in the wrong cache at its beginning
  // decides little.
  static constexpr int kTrial = 16;
  static constexpr double kTrialSeconds = 0.01;
  static constexpr int kOtherOneIn = 64;  // trials
  // Waiting is tried after so many trials, about a tenth of a second: a pass may be shorter, and
  // would wait for a large part of it.
  static constexpr int kTrialsBefore = 8;
  // The times of two trials may differ as much by chance.
  static constexpr double kClearly = 1.1;
  static constexpr double kPatience = 4;
  static constexpr double kLittle = 0.2;  // of the consumer's time

  // Ends a trial in which an element took so many seconds, of which the consumer waited for some.
  void End(double seconds, double waited) {
    double& mean = mean_[helps_ ? 1 : 0];
    // What has held up the consumer once, such as an evaluation, decides nothing.
    mean = mean == 0 ? seconds : mean + (std::min(seconds, 2 * mean) - mean) / 4;
    usual_ = mean;
    ++trials_;
    if (gets_every_element_ && mean_[0] == 0 && trials_ < kTrialsBefore) return;
    if (gets_every_element_ && !helps_ && waited < kLittle * seconds) return;
    const bool better = mean_[1] <= kClearly * mean_[0];  // false while waiting was never tried
    helps_ = trials_ % kOtherOneIn == 0 ? !better : better;
  }

  const bool gets_every_element_;
  int noted_ = 0;      // elements of the trial so far
  double begin_ = 0;   // of the trial
  double waited_ = 0;  // until then
  int trials_ = 0;
  std::array<double, 2> mean_ = {};  // seconds an element, if the consumer waits, and if it helps
  std::atomic<bool> helps_{true};
  std::atomic<double> usual_{0};
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_HELP_CHOICE_H_
