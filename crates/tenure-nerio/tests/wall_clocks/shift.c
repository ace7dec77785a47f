/* Shifts CLOCK_REALTIME of one process by the nanoseconds in the file SHIFT_FILE, which may change
 * at any time. Programs read that clock through the vDSO, mostly without a C library, so its code
 * itself is replaced before main: by a jump to the function below. For x86-64. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shift;

static int shifted(long clock, struct timespec *time) {
    long done = 228; /* clock_gettime */
    __asm__ volatile("syscall" : "+a"(done) : "D"(clock), "S"(time) : "rcx", "r11", "memory");
    if (done == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t nanos = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + *shift;
        time->tv_sec = nanos / 1000000000;
        time->tv_nsec = nanos % 1000000000;
    }
    return (int)done;
}

__attribute__((constructor)) static void replace(void) {
    const char *path = getenv("SHIFT_FILE");
    char *vdso = (char *)getauxval(AT_SYSINFO_EHDR);
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0 || !vdso) _exit(71);
    shift = mmap(0, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    if (shift == MAP_FAILED) _exit(72);
    close(file);
    Elf64_Ehdr *head = (Elf64_Ehdr *)vdso;
    Elf64_Phdr *part = (Elf64_Phdr *)(vdso + head->e_phoff);
    Elf64_Dyn *entry = 0;
    size_t length = 0;
    for (int i = 0; i < head->e_phnum; i++) {
        if (part[i].p_type == PT_DYNAMIC) entry = (Elf64_Dyn *)(vdso + part[i].p_offset);
        if (part[i].p_type == PT_LOAD) length = part[i].p_offset + part[i].p_memsz;
    }
    Elf64_Sym *symbols = 0;
    const char *names = 0;
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB) symbols = (Elf64_Sym *)(vdso + entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB) names = vdso + entry->d_un.d_ptr;
    }
    if (!symbols || !names) _exit(73);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    length = (length + page - 1) / page * page;
    if (mprotect(vdso, length, PROT_READ | PROT_WRITE | PROT_EXEC)) _exit(74);
    int found = 0;
    /* The names follow the symbols. */
    for (Elf64_Sym *symbol = symbols; (const char *)(symbol + 1) <= names; symbol++) {
        const char *name = names + symbol->st_name;
        if (strcmp(name, "__vdso_clock_gettime") && strcmp(name, "clock_gettime")) continue;
        unsigned char jump[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
        uint64_t to = (uint64_t)(uintptr_t)shifted;
        memcpy(jump + 2, &to, sizeof to);
        memcpy(vdso + symbol->st_value, jump, sizeof jump);
        found = 1;
    }
    mprotect(vdso, length, PROT_READ | PROT_EXEC);
    if (!found) _exit(75);
}
