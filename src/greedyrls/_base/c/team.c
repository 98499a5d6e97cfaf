/* See team.h.
 *
 * A helper that has nothing to do waits in a loop for a few microseconds, because the next loop of the
 * same step follows soon; then it sleeps until it is woken. Whoever calls does not wait for helpers
 * that have not begun, so on a busy machine it runs all shares itself.
 */
#include <Python.h>

#include "team.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#endif

#define MOST_HELPERS 63
/* Looks at the work until a helper goes to sleep, some 50 µs, and until one who waits lets others run. */
#define LOOKS 1500

#if defined(__GNUC__) || defined(__clang__)
#define LOAD(a) __atomic_load_n(a, __ATOMIC_SEQ_CST)
#define STORE(a, value) __atomic_store_n(a, value, __ATOMIC_SEQ_CST)
#define ADD(a, value) __atomic_fetch_add(a, value, __ATOMIC_SEQ_CST)
#define EXCHANGE(a, value) __atomic_exchange_n(a, value, __ATOMIC_SEQ_CST)
#else
#define EXCHANGE(a, value)                                                                         \
    ((intptr_t)InterlockedExchangePointer((void *volatile *)(a), (void *)(intptr_t)(value)))
#define STORE(a, value) ((void)EXCHANGE(a, value))
#define LOAD(a) add_to(a, 0)
#define ADD(a, value) add_to(a, value)
#ifdef _WIN64
#define add_to(a, value) _InterlockedExchangeAdd64((volatile long long *)(a), value)
#else
#define add_to(a, value) _InterlockedExchangeAdd((volatile long *)(a), value)
#endif
#endif
typedef volatile intptr_t Shared; /* as wide as the processor changes at once */

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__) && !defined(_WIN32)
#define PAUSE() __asm__ __volatile__("isb" ::: "memory")
#elif defined(_WIN32)
#define PAUSE() YieldProcessor()
#else
#define PAUSE() (void)0
#endif

typedef struct {
    PyThread_type_lock wake; /* released to wake it */
    Shared is_asleep;
    Shared id;    /* of the thread, as the system has it */
    int avoided;  /* the processor that it may not run on */
} Helper;

static struct {
    Shared is_busy;
    Shared n_left;    /* shares that nobody has taken; 0 or less: none */
    Shared n_working; /* helpers that may hold a share */
    RunShare run;
    void *context;
    int n_helpers, may_start_none;
    Helper helpers[MOST_HELPERS];
} team;

static void let_others_run(void)
{
#ifdef _WIN32
    SwitchToThread();
#else
    sched_yield();
#endif
}

static void take_shares(void)
{
    for (;;) {
        const intptr_t share = ADD(&team.n_left, -1) - 1;
        if (share < 0)
            return;
        team.run(team.context, share);
    }
}

static void help(void *argument)
{
    Helper *helper = argument;
#ifdef PY_HAVE_THREAD_NATIVE_ID
    STORE(&helper->id, (intptr_t)PyThread_get_thread_native_id());
#endif
    for (;;) {
        int looks = LOOKS;
        while (LOAD(&team.n_left) <= 0 && looks-- > 0)
            PAUSE();
        if (looks <= 0) {
            STORE(&helper->is_asleep, 1);
            /* Work may have come in the meantime: then either this thread takes the mark back, or the
             * one that has the work has done so and wakes it. */
            if (LOAD(&team.n_left) <= 0 || EXCHANGE(&helper->is_asleep, 0) == 0)
                PyThread_acquire_lock(helper->wake, WAIT_LOCK);
            continue;
        }
        ADD(&team.n_working, 1);
        take_shares();
        ADD(&team.n_working, -1);
    }
}

#ifndef _WIN32
static void *help_in_thread(void *helper)
{
    help(helper);
    return NULL;
}
#endif

/* Linux starts a thread on the processor of the one that wakes it, where it waits for the next tick of
 * the scheduler, some milliseconds, before it is moved: so it must not run there. */
static void send_elsewhere(Helper *helper)
{
#if defined(__linux__) && defined(CPU_SETSIZE)
    const int here = sched_getcpu();
    const intptr_t id = LOAD(&helper->id);
    cpu_set_t allowed;
    if (here < 0 || id == 0 || here == helper->avoided
        || sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    CPU_CLR(here, &allowed);
    if (CPU_COUNT(&allowed) > 0 && sched_setaffinity((pid_t)id, sizeof allowed, &allowed) == 0)
        helper->avoided = here;
#else
    (void)helper;
#endif
}

/* Start a thread for a helper; false if the system allows no more. */
static int start(Helper *helper)
{
#ifdef _WIN32
    return PyThread_start_new_thread(help, helper) != (unsigned long)-1;
#else
    /* Signals are for the threads of the interpreter. The stack has room for tiles. */
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, (size_t)1 << 20);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&thread, &attributes, help_in_thread, helper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return !failed;
#endif
}

/* How many helpers there are, of as many as are wanted. */
static int have_helpers(int64_t wanted)
{
#ifndef _WIN32
    static int is_registered;
    if (!is_registered)
        is_registered = pthread_atfork(NULL, NULL, forget_helpers) == 0;
#endif
    while (!team.may_start_none && team.n_helpers < wanted && team.n_helpers < MOST_HELPERS) {
        Helper *helper = &team.helpers[team.n_helpers];
        helper->is_asleep = helper->id = 0, helper->avoided = -1;
        helper->wake = PyThread_allocate_lock();
        if (helper->wake == NULL)
            break;
        PyThread_acquire_lock(helper->wake, WAIT_LOCK);
        if (!start(helper)) {
            PyThread_release_lock(helper->wake);
            PyThread_free_lock(helper->wake);
            team.may_start_none = 1;
            break;
        }
        team.n_helpers++;
    }
    return team.n_helpers < wanted ? team.n_helpers : (int)wanted;
}

void in_shares(int64_t n_threads, int64_t n_shares, RunShare run, void *context)
{
    const int64_t most = n_threads < n_shares ? n_threads : n_shares;
    if (most <= 1 || EXCHANGE(&team.is_busy, 1)) {
        for (int64_t share = n_shares - 1; share >= 0; share--)
            run(context, share);
        return;
    }
    const int n_helpers = have_helpers(most - 1);
    team.run = run, team.context = context;
    STORE(&team.n_left, n_shares);
    for (int k = 0; k < n_helpers; k++) {
        Helper *helper = &team.helpers[k];
        if (EXCHANGE(&helper->is_asleep, 0)) {
            send_elsewhere(helper);
            PyThread_release_lock(helper->wake);
        }
    }
    take_shares();
    for (int looks = LOOKS; LOAD(&team.n_working) > 0;) {
        if (looks-- > 0)
            PAUSE();
        else
            let_others_run();
    }
    STORE(&team.is_busy, 0);
}

void forget_helpers(void)
{
    team.is_busy = team.n_left = team.n_working = 0;
    team.n_helpers = team.may_start_none = 0;
}
