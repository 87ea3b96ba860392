#include "object.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef ElfW(Ehdr) elf_header_t;
typedef ElfW(Phdr) elf_segment_t;
typedef ElfW(Shdr) elf_section_t;
typedef ElfW(Sym) elf_symbol_t;

/* ---- loaded objects ----------------------------------------------------------------------------------------- */

static bool segment_holds(const struct kr_object *object, const void *address, ElfW(Word) flags)
{
        uintptr_t at = (uintptr_t)address - object->bias;

        for (size_t i = 0; i < object->phdr_cnt; i++) {
                const elf_segment_t *segment = &object->phdr[i];

                if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags && at >= segment->p_vaddr &&
                    at - segment->p_vaddr < segment->p_memsz)
                        return true;
        }
        return false;
}

bool kr_object_holds(const struct kr_object *object, const void *address)
{
        return address && segment_holds(object, address, 0);
}

struct search {
        struct kr_object *object;
        const void *address;
        size_t visited;
};

static int visit(struct dl_phdr_info *info, size_t size, void *opaque)
{
        struct search *search = opaque;
        struct kr_object *object = search->object;

        (void)size;
        object->bias = info->dlpi_addr;
        object->phdr = info->dlpi_phdr;
        object->phdr_cnt = info->dlpi_phnum;
        /* The executable is always the first; its name is empty with glibc, and need not be a path with others. */
        object->is_main = !search->visited++;
        if (!kr_object_holds(object, search->address))
                return 0;
        if (object->is_main) {
                ssize_t len = readlink("/proc/self/exe", object->path, sizeof(object->path) - 1);

                object->path[len > 0 ? len : 0] = '\0';
        } else {
                snprintf(object->path, sizeof(object->path), "%s", info->dlpi_name);
        }
        return 1;
}

bool kr_object_find(struct kr_object *object, const void *address)
{
        struct search search = { .object = object, .address = address };

        return dl_iterate_phdr(visit, &search) == 1;
}

/* ---- symbols of their files --------------------------------------------------------------------------------- */

/* A mapped file. Its structures may stand at odd addresses, so they are copied out. */
struct file {
        const unsigned char *data;
        size_t size;
};

static bool file_map(struct file *file, const char *path)
{
        struct stat st;
        void *data = MAP_FAILED;
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return false;
        if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
                data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        close(fd);
        if (data == MAP_FAILED)
                return false;
        file->data = data;
        file->size = (size_t)st.st_size;
        return true;
}

/* The part of the file, or NULL when it is not all there. */
static const unsigned char *file_part(const struct file *file, uint64_t offset, uint64_t len)
{
        return offset <= file->size && len <= file->size - offset ? file->data + offset : NULL;
}

/* Copies the i-th of `cnt` entries of an array out. */
static bool file_entry(const struct file *file, uint64_t offset, uint64_t entry_size, uint64_t i, void *out,
                       size_t size)
{
        const unsigned char *part;

        if (entry_size < size || (entry_size && i > (UINT64_MAX - offset) / entry_size))
                return false;
        part = file_part(file, offset + i * entry_size, size);
        if (part)
                memcpy(out, part, size);
        return part;
}

static bool header_read(const struct file *file, elf_header_t *header)
{
        unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;

        return file_entry(file, 0, sizeof(*header), 0, header, sizeof(*header)) &&
               !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == class;
}

/* With a NUL at its end, no string in the section can run out of it. */
static bool strings_end(const struct file *file, const elf_section_t *strings)
{
        const unsigned char *data = file_part(file, strings->sh_offset, strings->sh_size);

        return data && strings->sh_size && !data[strings->sh_size - 1];
}

/* Finds the symbol table and its strings. */
static bool sections_find(const struct file *file, const elf_header_t *header, elf_section_t *symbols,
                          elf_section_t *strings)
{
        for (uint64_t i = 0; i < header->e_shnum; i++)
                if (file_entry(file, header->e_shoff, header->e_shentsize, i, symbols, sizeof(*symbols)) &&
                    symbols->sh_type == SHT_SYMTAB)
                        return symbols->sh_link < header->e_shnum &&
                               file_entry(file, header->e_shoff, header->e_shentsize, symbols->sh_link, strings,
                                          sizeof(*strings)) &&
                               strings_end(file, strings);
        return false;
}

/* True when the symbol's code in memory is what the file says. It is position-independent: no loader changed it. */
static bool runs_as_filed(const struct kr_object *object, const struct file *file, const elf_symbol_t *symbol)
{
        size_t len = symbol->st_size < 64 ? (size_t)symbol->st_size : 64;
        const unsigned char *code = (const unsigned char *)(uintptr_t)(object->bias + symbol->st_value);

        if (!len || !segment_holds(object, code, PF_X) || !segment_holds(object, code + len - 1, PF_X))
                return false;
        for (size_t i = 0; i < object->phdr_cnt; i++) {
                const elf_segment_t *segment = &object->phdr[i];
                ElfW(Addr) into = symbol->st_value - segment->p_vaddr;
                const unsigned char *filed;

                if (segment->p_type != PT_LOAD || symbol->st_value < segment->p_vaddr || into >= segment->p_filesz)
                        continue;
                filed = file_part(file, segment->p_offset + into, len);
                return filed && !memcmp(filed, code, len);
        }
        return false;
}

/* The function's entry in the list, or NULL. */
static void **entry_of(const char *name, const char *const *names, size_t cnt, void **functions)
{
        for (size_t i = 0; i < cnt; i++)
                if (!strcmp(name, names[i]))
                        return &functions[i];
        return NULL;
}

static void symbols_read(const struct kr_object *object, const struct file *file, const char *const *names, size_t cnt,
                         void **functions)
{
        static char twice; /* stands for a name with two meanings */
        elf_header_t header;
        elf_section_t symbols, strings;
        elf_symbol_t symbol;

        if (!header_read(file, &header) || !sections_find(file, &header, &symbols, &strings))
                return;
        for (uint64_t n = 0; symbols.sh_entsize && n < symbols.sh_size / symbols.sh_entsize; n++) {
                void *address, **entry;

                if (!file_entry(file, symbols.sh_offset, symbols.sh_entsize, n, &symbol, sizeof(symbol)))
                        break;
                if ((symbol.st_info & 0xf) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
                    symbol.st_name >= strings.sh_size)
                        continue;
                entry = entry_of((const char *)file->data + strings.sh_offset + symbol.st_name, names, cnt, functions);
                if (!entry || !runs_as_filed(object, file, &symbol))
                        continue;
                address = (void *)(uintptr_t)(object->bias + symbol.st_value);
                *entry = !*entry || *entry == address ? address : &twice;
        }
        for (size_t i = 0; i < cnt; i++)
                if (functions[i] == &twice)
                        functions[i] = NULL;
}

void kr_object_symbols(const struct kr_object *object, const char *const *names, size_t cnt, void **functions)
{
        struct file file;

        memset(functions, 0, cnt * sizeof(*functions));
        /* The link in /proc leads to the file that runs even when its name now belongs to another one. */
        if (!file_map(&file, object->is_main ? "/proc/self/exe" : object->path))
                return;
        symbols_read(object, &file, names, cnt, functions);
        munmap((void *)(uintptr_t)file.data, file.size);
}
