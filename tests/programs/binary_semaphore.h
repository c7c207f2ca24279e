// std::binary_semaphore as GCC has it since version 11: a futex, so no tool sees that a thread waits for another.
#pragma once
#include <atomic>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

class binary_semaphore {
    std::atomic<int> count;
    static_assert(sizeof count == sizeof(int), "the kernel reads an int");

public:
    explicit binary_semaphore(int initial) : count(initial) {}

    void release()
    {
        count = 1;
        syscall(SYS_futex, &count, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }

    void acquire()
    {
        while (!count.exchange(0))
            syscall(SYS_futex, &count, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
};
