// A library for LD_PRELOAD: CLOCK_BOOTTIME of its program runs at another rate. From the real
// instant TESTS_CLOCK_SINCE on, in nanoseconds, the clock advances by TESTS_CLOCK_PPM millionths
// more than the real clock. A filter hands calls of the kernel that read clocks, set timers, or ask for
// the place of the vDSO to the handler below: a program that finds no vDSO asks the kernel.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

// The sixth argument of the library's own calls, which the filter passes on.
#define OWN 0x7e0017e5
// `PR_GET_AUXV`, which older headers lack.
#define GET_AUXV 0x41555856
#define NANOS 1000000000LL
#define MILLION 1000000LL

#if defined(__x86_64__)
static const int PLACES[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10};
#define ARGUMENT(context, nth) ((context)->uc_mcontext.gregs[PLACES[nth]])
#define RESULT(context) ((context)->uc_mcontext.gregs[REG_RAX])
#elif defined(__aarch64__)
#define ARGUMENT(context, nth) ((context)->uc_mcontext.regs[nth])
#define RESULT(context) ((context)->uc_mcontext.regs[0])
#else
#error "the registers of this machine are missing here"
#endif

static long long since, ppm;

static long long nanos(const struct timespec *time) {
    return time->tv_sec * NANOS + time->tv_nsec;
}

static struct timespec timespec(long long nanos) {
    return (struct timespec){.tv_sec = nanos / NANOS, .tv_nsec = nanos % NANOS};
}

static long long shown(long long real) {
    return real <= since ? real : real + (long long)((__int128)(real - since) * ppm / MILLION);
}

// The first real instant at which the clock shows `time`.
static long long reached(long long time) {
    if (time <= since) return time;
    __int128 rate = MILLION + ppm;
    return since + (long long)(((__int128)(time - since) * MILLION + rate - 1) / rate);
}

static long ask(long call, long a, long b, long c, long d) {
    long result = syscall(call, a, b, c, d, 0L, (long)OWN);
    return result < 0 ? -errno : result;
}

static void on_call(int signal, siginfo_t *info, void *vector) {
    int before = errno;
    ucontext_t *context = vector;
    long a = ARGUMENT(context, 0), b = ARGUMENT(context, 1);
    long c = ARGUMENT(context, 2), d = ARGUMENT(context, 3);
    if (info->si_syscall == SYS_prctl) {
        long length = RESULT(context) = ask(SYS_prctl, a, b, c, d);
        Elf64_auxv_t *one = (Elf64_auxv_t *)b;
        for (; length > 0 && one->a_type != AT_NULL; one++)
            if (one->a_type == AT_SYSINFO_EHDR) one->a_type = AT_IGNORE;
    } else if (info->si_syscall == SYS_clock_gettime) {
        long result = ask(SYS_clock_gettime, a, b, 0, 0);
        struct timespec *time = (struct timespec *)b;
        if (result == 0 && a == CLOCK_BOOTTIME) *time = timespec(shown(nanos(time)));
        RESULT(context) = result;
    } else {
        struct itimerspec timer = *(const struct itimerspec *)c;
        if (b & TFD_TIMER_ABSTIME && nanos(&timer.it_value) != 0)
            timer.it_value = timespec(reached(nanos(&timer.it_value)));
        RESULT(context) = ask(SYS_timerfd_settime, a, b, (long)&timer, d);
    }
    errno = before;
    (void)signal;
}

__attribute__((constructor)) static void begin(void) {
    const char *from = getenv("TESTS_CLOCK_SINCE"), *by = getenv("TESTS_CLOCK_PPM");
    if (!from || !by) return;
    since = atoll(from);
    ppm = atoll(by);
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN, 6, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timerfd_settime, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GET_AUXV, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (sigaction(SIGSYS, &action, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        abort();
}
