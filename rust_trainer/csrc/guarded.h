// Calls from Rust into libtorch: what it throws must not reach Rust.
#pragma once
#include <c10/util/Exception.h>

#include <exception>
#include <string>

// Why the last call of this thread failed: trainer_error() in cuda.cpp tells.
inline thread_local std::string error;

// 0, or 1 where libtorch threw.
template <typename Work>
int guarded(Work work) {
  try {
    work();
    return 0;
  } catch (const c10::Error& thrown) {
    error = thrown.what_without_backtrace();
  } catch (const std::exception& thrown) {
    error = thrown.what();
  } catch (...) {
    error = "an exception of an unknown type";
  }
  return 1;
}
