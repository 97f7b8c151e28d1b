// For every line "REPEAT WORK" on stdin, runs the work REPEAT times and prints the milliseconds of one run,
// or "none".
#include <chrono>
#include <cstdio>
#include <string>

#include "kernels.h"

int main() {
  std::string made;
  std::unique_ptr<ropewalk::bench::Work> work;
  char line[256];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    int repeat = 0;
    int start_of_work = 0;
    if (std::sscanf(line, "%d %n", &repeat, &start_of_work) != 1) return 1;
    const char* wanted = line + start_of_work;
    if (made != wanted) {
      work.reset();
      work = ropewalk::bench::makeWork(wanted);
      made = wanted;
    }
    if (work == nullptr) {
      std::puts("none");
    } else {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < repeat; ++i) work->run();
      const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
      std::printf("%.7f\n", elapsed.count() / repeat);
    }
    std::fflush(stdout);
  }
}
