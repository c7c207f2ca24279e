// lockwright's locks with the standard library's guards.
//
//     cmake -S . -B build && cmake --build build && build/ledger
//     make && ./ledger
#include <lockwright.hpp>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

int main()
{
	lockwright::mutex lock;
	std::vector<std::string> entries;
	std::vector<std::thread> writers;
	for (int writer = 0; writer < 4; writer++)
		writers.emplace_back([&, writer] {
			for (int i = 0; i < 1000; i++) {
				std::scoped_lock guard(lock);
				entries.push_back(std::to_string(writer) + ":" + std::to_string(i));
			}
		});
	for (auto &writer : writers)
		writer.join();

	std::unique_lock guard(lock);
	bool taken = false;
	std::thread([&] { taken = std::unique_lock(lock, std::chrono::milliseconds(10)).owns_lock(); }).join();
	std::printf("%zu entries, %s\n", entries.size(), taken ? "not locked" : "locked");
	return 0;
}
