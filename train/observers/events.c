#include "train/observers/events.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* --- the wire format: a key of number and type, then the value --- */

enum { WIRE_VARINT = 0, WIRE_DOUBLE = 1, WIRE_BYTES = 2, WIRE_FLOAT = 5 };

static void append_bytes(unsigned char **bytes, const void *more, size_t size)
{
    if (size > 0) /* an empty message is NULL */
        memcpy(arraddnptr(*bytes, size), more, size);
}

/* Appends the low bytes of a number, little-endian. */
static void append_number(unsigned char **bytes, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        arrput(*bytes, (unsigned char)(number >> 8 * i));
}

static void append_varint(unsigned char **bytes, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        arrput(*bytes, (unsigned char)(number | 0x80));
    arrput(*bytes, (unsigned char)number);
}

static void append_key(unsigned char **bytes, unsigned field, unsigned type)
{
    append_varint(bytes, field << 3 | type);
}

static void append_whole(unsigned char **bytes, unsigned field, uint64_t number)
{
    append_key(bytes, field, WIRE_VARINT);
    append_varint(bytes, number);
}

static void append_double(unsigned char **bytes, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    append_key(bytes, field, WIRE_DOUBLE);
    append_number(bytes, bits, sizeof bits);
}

static void append_float(unsigned char **bytes, unsigned field, double value)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    append_key(bytes, field, WIRE_FLOAT);
    append_number(bytes, bits, sizeof bits);
}

static void append_string(unsigned char **bytes, unsigned field, const char *text)
{
    size_t length = strlen(text);
    append_key(bytes, field, WIRE_BYTES);
    append_varint(bytes, length);
    append_bytes(bytes, text, length);
}

/* Appends a nested message and frees it. */
static void append_message(unsigned char **bytes, unsigned field, unsigned char *message)
{
    append_key(bytes, field, WIRE_BYTES);
    append_varint(bytes, arrlenu(message));
    append_bytes(bytes, message, arrlenu(message));
    arrfree(message);
}

/* --- events --- */

/* Field numbers of TensorFlow's event.proto, summary.proto and tensor.proto. */
enum {
    EVENT_TIME = 1,
    EVENT_STEP = 2,
    EVENT_VERSION = 3,
    EVENT_SUMMARY = 5,
    EVENT_SESSION = 7
};
enum {
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_SCALAR = 2,
    VALUE_TENSOR = 8,
    VALUE_METADATA = 9
};
enum { METADATA_PLUGIN = 1, METADATA_CLASS = 4, CLASS_TENSOR = 2 };
enum { PLUGIN_NAME = 1, PLUGIN_CONTENT = 2 };
enum { TENSOR_TYPE = 1, TENSOR_SHAPE = 2, TENSOR_STRING = 8, TYPE_STRING = 7 };
enum { SESSION_STATUS = 1, SESSION_START = 1 };
/* Those of the hparams plugin's plugin_data.proto, and of struct.proto and maps. */
enum { HPARAMS_START = 3, START_SETTINGS = 1, START_GROUP = 4 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, VALUE_NUMBER = 2, VALUE_STRING = 3 };

static unsigned char *event_begin(double time, size_t step)
{
    unsigned char *event = NULL;
    append_double(&event, EVENT_TIME, time);
    if (step > 0) /* the format omits zeros */
        append_whole(&event, EVENT_STEP, step);
    return event;
}

/* Bitwise, without a table: records are a few hundred bytes. */
uint32_t events_checksum(const void *bytes, size_t size)
{
    const uint32_t polynomial = 0x82f63b78; /* bit-reversed */
    const unsigned char *next = bytes;
    uint32_t remainder = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        remainder ^= next[i];
        for (int bit = 0; bit < 8; bit++)
            remainder = remainder >> 1 ^ (remainder & 1 ? polynomial : 0);
    }
    return ~remainder;
}

/* The format masks checksums: rotates them and adds a constant. */
static uint32_t masked(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

/* Appends an event as a framed record and frees it. */
static void event_end(unsigned char **bytes, unsigned char *event)
{
    size_t start = arrlenu(*bytes), size = arrlenu(event);
    append_number(bytes, size, 8);
    append_number(bytes, masked(events_checksum(*bytes + start, 8)), 4);
    append_bytes(bytes, event, size);
    append_number(bytes, masked(events_checksum(event, size)), 4);
    arrfree(event);
}

void events_append_version(unsigned char **bytes, double time)
{
    unsigned char *event = event_begin(time, 0);
    append_string(&event, EVENT_VERSION, "brain.Event:2");
    event_end(bytes, event);
}

void events_append_scalars(unsigned char **bytes, double time, size_t step,
                           const EventScalar *scalars, size_t count)
{
    unsigned char *event = event_begin(time, step), *summary = NULL;
    for (size_t i = 0; i < count; i++) {
        unsigned char *value = NULL;
        append_string(&value, VALUE_TAG, scalars[i].tag);
        append_float(&value, VALUE_SCALAR, scalars[i].value);
        append_message(&summary, SUMMARY_VALUE, value);
    }
    append_message(&event, EVENT_SUMMARY, summary);
    event_end(bytes, event);
}

/* Appends an event with one value, for a plugin, which is given its content (NULL: none), and a
 * tensor that is one text. Frees the content. */
static void append_for_plugin(unsigned char **bytes, unsigned char *event, const char *tag,
                              const char *text, const char *name, unsigned char *content)
{
    unsigned char *plugin = NULL, *metadata = NULL, *tensor = NULL, *value = NULL,
                  *summary = NULL;
    append_string(&plugin, PLUGIN_NAME, name);
    if (content)
        append_message(&plugin, PLUGIN_CONTENT, content);
    append_message(&metadata, METADATA_PLUGIN, plugin);
    append_whole(&metadata, METADATA_CLASS, CLASS_TENSOR);
    append_whole(&tensor, TENSOR_TYPE, TYPE_STRING);
    append_message(&tensor, TENSOR_SHAPE, NULL); /* no dimensions: one text */
    append_string(&tensor, TENSOR_STRING, text);
    append_string(&value, VALUE_TAG, tag);
    append_message(&value, VALUE_TENSOR, tensor);
    append_message(&value, VALUE_METADATA, metadata);
    append_message(&summary, SUMMARY_VALUE, value);
    append_message(&event, EVENT_SUMMARY, summary);
    event_end(bytes, event);
}

void events_append_text(unsigned char **bytes, double time, size_t step, const char *tag,
                        const char *text)
{
    append_for_plugin(bytes, event_begin(time, step), tag, text, "text", NULL);
}

/* Appends an entry of the map: a number if the whole text is one, else a string. */
static void append_setting(unsigned char **start, const char *name, const char *text)
{
    unsigned char *entry = NULL, *value = NULL;
    double number;
    if (text_to_double(text, &number))
        append_double(&value, VALUE_NUMBER, number);
    else
        append_string(&value, VALUE_STRING, text);
    append_string(&entry, ENTRY_KEY, name);
    append_message(&entry, ENTRY_VALUE, value);
    append_message(start, START_SETTINGS, entry);
}

void events_append_settings(unsigned char **bytes, double time, const char *settings)
{
    const char equals[] = " = ";
    char *lines = memory_copy_text(settings), *rest = lines;
    unsigned char *start = NULL, *content = NULL;
    uLong group = crc32_z(0, NULL, 0);
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *value = strstr(line, equals);
        if (!value || *line == '#')
            continue;
        *value = '\0';
        append_setting(&start, line, value + strlen(equals));
        if (strcmp(line, "seed") != 0) {
            *value = ' ';
            group = crc32_z(group, (const Bytef *)line, strlen(line));
        }
    }
    char *name = text_format("%08lx", group);
    append_string(&start, START_GROUP, name);
    append_message(&content, HPARAMS_START, start);
    append_for_plugin(bytes, event_begin(time, 0), "_hparams_/session_start_info", "",
                      "hparams", content);
    free(name);
    free(lines);
}

void events_append_restart(unsigned char **bytes, double time, size_t step)
{
    unsigned char *event = event_begin(time, step), *session = NULL;
    append_whole(&session, SESSION_STATUS, SESSION_START);
    append_message(&event, EVENT_SESSION, session);
    event_end(bytes, event);
}

/* --- the file --- */

#define NAME_START "events.out.tfevents."

double events_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The time for the file name: now, but later than existing files, since readers order files by
 * name. */
static long long free_second(const char *folder)
{
    long long second = (long long)time(NULL), taken;
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        if (sscanf(entry->d_name, NAME_START "%10lld.", &taken) == 1 && taken >= second)
            second = taken + 1;
    if (listing)
        closedir(listing);
    return second;
}

bool events_create(EventFile *file, const char *folder, Error *error)
{
    char host[65] = "localhost";
    if (gethostname(host, sizeof host - 1) != 0 || !*host || strchr(host, '/'))
        strcpy(host, "localhost");
    char *path = text_format("%s/" NAME_START "%010lld.%s.%ld", folder, free_second(folder),
                             host, (long)getpid());
    *file = (EventFile){
        .fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666),
        .path = path};
    if (file->fd < 0)
        return error_set(error, "%s: cannot create: %s", path, strerror(errno));
    unsigned char *bytes = NULL;
    events_append_version(&bytes, events_now());
    return events_write(file, &bytes, error);
}

bool events_write(EventFile *file, unsigned char **bytes, Error *error)
{
    bool good = file_append(file->fd, file->path, &file->size, *bytes, arrlenu(*bytes), error);
    arrfree(*bytes);
    return good;
}

bool events_close(EventFile *file, Error *error)
{
    bool good = file->fd < 0 || close(file->fd) == 0;
    if (!good)
        error_set(error, "%s: cannot close: %s", file->path, strerror(errno));
    free(file->path);
    *file = (EventFile){.fd = -1};
    return good;
}
