// SPDX-License-Identifier: Apache-2.0
// What clang's -Wthread-safety checks, and with it tools/lint: which mutex guards a member, and
// which mutex a function needs, locks or must not find locked. Other compilers ignore it. The names
// are those of clang's documentation (Thread Safety Analysis). Mutexes are those of mutex.h and
// yielding_mutex.h. Clang looks into no constructor and no destructor.
#ifndef MILLHOPPER_FRAMEWORK_BASE_THREAD_ANNOTATIONS_H_
#define MILLHOPPER_FRAMEWORK_BASE_THREAD_ANNOTATIONS_H_

#ifdef __clang__
#define MILLHOPPER_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define MILLHOPPER_THREAD_ANNOTATION(attribute)
#endif

// ---- Of a member or a variable. ----
// Whoever uses it holds the mutex.
#define GUARDED_BY(mutex) MILLHOPPER_THREAD_ANNOTATION(guarded_by(mutex))

// ---- Of a function. Without an argument, the mutex is the object itself. ----
// The caller holds the mutexes, before and afterwards.
#define REQUIRES(...) MILLHOPPER_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
// The caller does not hold the mutexes: the function locks them, or waits for threads that do.
#define EXCLUDES(...) MILLHOPPER_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
// The caller holds the mutexes afterwards.
#define ACQUIRE(...) MILLHOPPER_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
// The caller holds the mutexes afterwards if the function returns the first argument.
#define TRY_ACQUIRE(...) MILLHOPPER_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
// The caller holds the mutexes, and does not hold them afterwards.
#define RELEASE(...) MILLHOPPER_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
// The caller holds the mutex, which clang cannot see and believes.
#define ASSERT_CAPABILITY(mutex) MILLHOPPER_THREAD_ANNOTATION(assert_capability(mutex))
// Clang does not look into the function.
#define NO_THREAD_SAFETY_ANALYSIS MILLHOPPER_THREAD_ANNOTATION(no_thread_safety_analysis)

// ---- Of a class. ----
// It is a mutex.
#define CAPABILITY(name) MILLHOPPER_THREAD_ANNOTATION(capability(name))
// It holds a mutex from its constructor to its destructor.
#define SCOPED_CAPABILITY MILLHOPPER_THREAD_ANNOTATION(scoped_lockable)

#endif  // MILLHOPPER_FRAMEWORK_BASE_THREAD_ANNOTATIONS_H_
