/* Source text that the golden reports quote. It is never compiled. */
#include <pthread.h>

struct account {
    pthread_mutex_t lock;
    long balance;
};

static pthread_mutex_t vault = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;

void account_init(struct account *a)
{
    pthread_mutex_init(&a->lock, NULL);
}

void transfer(struct account *from, struct account *to, long amount)
{
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock); /* the other order is as likely */
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

void *teller(void *arg)
{
    pthread_mutex_lock(&vault);
    count_money(arg);
    pthread_mutex_lock(&ledger_lock);
    write_down(arg);
    pthread_mutex_unlock(&ledger_lock);
    pthread_mutex_unlock(&vault);
    return NULL;
}

void *auditor(void *arg)
{
    pthread_mutex_lock(&ledger_lock);
    open_vault(arg);
    pthread_mutex_unlock(&ledger_lock);
    return NULL;
}
