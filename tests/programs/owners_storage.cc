// Locks of an object in static room for it, which has the type of bytes (as LevelDB's environment).
#include <mutex>
#include <new>

#include "owners.h"

namespace store {
class Journal {
public:
    long length = 0;
    std::mutex first_, second_;

    void write(bool reversed)
    {
        if (reversed) {
            std::lock_guard<std::mutex> outer(second_);
            std::lock_guard<std::mutex> inner(first_);
        } else {
            std::lock_guard<std::mutex> outer(first_);
            std::lock_guard<std::mutex> inner(second_);
        }
    }
};
}

alignas(store::Journal) static unsigned char room[sizeof(store::Journal)];
static store::Journal *journal;

static void in_order(void)
{
    journal->write(false);
}

static void reversed(void)
{
    journal->write(true);
}

int main()
{
    journal = new (room) store::Journal;
    run_both();
}
