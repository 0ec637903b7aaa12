#include "holds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "text.h"

enum { MAX_NAME = sizeof((struct device*)0)->id + 1 + MAX_UID };

void holds_init(struct holds* holds) {
  *holds = (struct holds){.folder = "", .fd = -1};
  pthread_mutex_init(&holds->lock, NULL);
}

void holds_free(struct holds* holds) {
  holds_suspend(holds);
  pthread_mutex_destroy(&holds->lock);
}

void holds_suspend(struct holds* holds) {
  if (holds->fd >= 0) close(holds->fd);
  holds->fd = -1;
}

cage_status holds_reopen(struct holds* holds, const cage_call* call) {
  if (holds->folder[0] == '\0' || holds->fd >= 0) return CAGE_OK;
  holds->fd = open(holds->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (holds->fd >= 0) return CAGE_OK;
  return refuse(call, CAGE_FAILED_PRECONDITION, "option 'mount_dir': cannot open '%s' again: %s", holds->folder,
                strerrordesc_np(errno));
}

static struct holder* find(const struct device* device, const char* claim) {
  struct holder* holder = device->holders;
  while (holder != NULL && strcmp(holder->claim, claim) != 0) holder = holder->next;
  return holder;
}

static struct holder* add(struct device* device, const char* claim) {
  size_t size = strlen(claim) + 1;
  struct holder* holder = malloc(sizeof *holder + size);
  if (holder == NULL) return NULL;
  *holder = (struct holder){.next = device->holders};
  memcpy(holder->claim, claim, size);
  device->holders = holder;
  return holder;
}

static void drop(struct device* device, const char* claim) {
  struct holder** link = &device->holders;
  while (*link != NULL && strcmp((*link)->claim, claim) != 0) link = &(*link)->next;
  struct holder* holder = *link;
  if (holder == NULL) return;
  *link = holder->next;
  free(holder);
}

static void name_file(const struct device* device, const char* claim, char* name) {
  snprintf(name, MAX_NAME, "%s@%s", device->id, claim);
}

void holds_path(const struct holds* holds, const struct device* device, const char* claim, char* path, size_t room) {
  snprintf(path, room, "%s/%s@%s", holds->folder, device->id, claim);
}

/* Adopts the hold of the file "<device>@<claim>", and ignores any other file. */
static void adopt_file(struct devices* devices, const char* file) {
  const char* at = strchr(file, '@');
  if (at == NULL || at[1] == '\0' || strlen(at + 1) >= MAX_UID) return;
  struct device* device = devices_find(devices, (cage_str){file, (size_t)(at - file)});
  if (device != NULL && find(device, at + 1) == NULL) add(device, at + 1);
}

cage_status holds_open(struct holds* holds, const char* folder, struct devices* devices, const cage_call* call) {
  if (folder[0] == '\0') return CAGE_OK;
  if (folder[0] != '/') {
    return refuse(call, CAGE_INVALID_ARGUMENT, "option 'mount_dir': '%s' is not an absolute path", folder);
  }
  if (mkdir(folder, 0755) != 0 && errno != EEXIST) {
    return refuse(call, CAGE_FAILED_PRECONDITION, "option 'mount_dir': cannot create '%s': %s", folder,
                  strerrordesc_np(errno));
  }
  holds->folder = folder;
  holds->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int list_fd = holds->fd < 0 ? -1 : fcntl(holds->fd, F_DUPFD_CLOEXEC, 0);
  DIR* list = list_fd < 0 ? NULL : fdopendir(list_fd);
  if (list == NULL) {
    if (list_fd >= 0) close(list_fd);
    return refuse(call, CAGE_FAILED_PRECONDITION, "option 'mount_dir': cannot read '%s': %s", folder,
                  strerrordesc_np(errno));
  }
  const struct dirent* entry = NULL;
  while ((entry = readdir(list)) != NULL) {  // NOLINT(concurrency-mt-unsafe): no other thread uses this DIR
    adopt_file(devices, entry->d_name);
  }
  closedir(list);
  return CAGE_OK;
}

static cage_status check_holders(const struct device* device, const struct device* wanted, const char* claim,
                                 const cage_call* call) {
  for (const struct holder* holder = device->holders; holder != NULL; holder = holder->next) {
    if (strcmp(holder->claim, claim) == 0) continue;
    return refuse(call, CAGE_FAILED_PRECONDITION, "device '%s': '%s' is in use by claim %s; unprepare that claim first",
                  wanted->id, device->id, holder->claim);
  }
  return CAGE_OK;
}

cage_status holds_free_for(const struct devices* devices, const struct device* device, const char* claim,
                           const cage_call* call) {
  if (devices->hardware->shared) return CAGE_OK;
  cage_status status = CAGE_OK;
  for (uint32_t i = 0; i <= device->part_count && status == CAGE_OK; ++i) {
    status = check_holders(&device[i], device, claim, call);
  }
  if (status == CAGE_OK && device->parent != NULL) status = check_holders(device->parent, device, claim, call);
  return status;
}

static int write_file(const struct holds* holds, const struct device* device, const char* claim, cage_str claim_name) {
  char name[MAX_NAME], text[512];
  name_file(device, claim, name);
  int size = snprintf(text, sizeof text, "device=%s\nuuid=%s\nclaim=%.*s\nclaim_uid=%s\n", device->id, device->uuid,
                      (int)(claim_name.size < 256 ? claim_name.size : 256), claim_name.data, claim);
  int fd = openat(holds->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  int error = write(fd, text, (size_t)size) == size ? 0 : errno;
  close(fd);
  if (error != 0) unlinkat(holds->fd, name, 0);
  return error;
}

cage_status holds_take(struct holds* holds, struct device* device, const char* claim, cage_str claim_name,
                       const cage_call* call) {
  if (find(device, claim) != NULL) return CAGE_OK;
  int error = holds->fd >= 0 ? write_file(holds, device, claim, claim_name) : 0;
  if (error != 0) {
    return refuse(call, CAGE_UNAVAILABLE, "device '%s': cannot write its file in '%s': %s", device->id, holds->folder,
                  strerrordesc_np(error));
  }
  struct holder* holder = add(device, claim);
  if (holder == NULL) return refuse(call, CAGE_RESOURCE_EXHAUSTED, "device '%s': out of memory", device->id);
  holder->fresh = true;
  return CAGE_OK;
}

cage_status holds_release(struct holds* holds, struct device* device, const char* claim, const cage_call* call) {
  if (holds->fd < 0 && holds->folder[0] != '\0') {
    return refuse(call, CAGE_UNAVAILABLE, "device '%s': the hardware is quiesced; resume the module first", device->id);
  }
  char name[MAX_NAME];
  name_file(device, claim, name);
  if (holds->fd >= 0 && unlinkat(holds->fd, name, 0) != 0 && errno != ENOENT) {
    return refuse(call, CAGE_UNAVAILABLE, "device '%s': cannot remove its file in '%s': %s", device->id, holds->folder,
                  strerrordesc_np(errno));
  }
  drop(device, claim);
  return CAGE_OK;
}

cage_status holds_mark_start(const struct holds* holds, const struct device* device, const char* claim,
                             const cage_call* call) {
  if (find(device, claim) == NULL) {
    return refuse(call, CAGE_FAILED_PRECONDITION, "device '%s' is not prepared for claim %s", device->id, claim);
  }
  if (holds->fd < 0) return CAGE_OK;
  static const char line[] = "start\n";
  char name[MAX_NAME];
  name_file(device, claim, name);
  int fd = openat(holds->fd, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  int error = fd >= 0 && write(fd, line, sizeof line - 1) == (ssize_t)sizeof line - 1 ? 0 : errno;
  if (fd >= 0) close(fd);
  if (error == 0) return CAGE_OK;
  return refuse(call, CAGE_UNAVAILABLE, "device '%s': cannot write its file in '%s': %s", device->id, holds->folder,
                strerrordesc_np(error));
}

uint64_t holds_bound_for(struct device* device, const char* claim) {
  struct holder* holder = find(device, claim);
  if (holder == NULL) return 0;
  const uint64_t now = now_ns();
  if (holder->bound_ns == 0) holder->bound_ns = now;
  return now - holder->bound_ns;
}

bool holds_was_bound(const struct device* device, const char* claim) {
  const struct holder* holder = find(device, claim);
  return holder != NULL && holder->bound_ns != 0;
}

bool holds_fresh(const struct device* device, const char* claim) {
  const struct holder* holder = find(device, claim);
  return holder != NULL && holder->fresh;
}

void holds_settle(struct device* device, const char* claim) {
  struct holder* holder = find(device, claim);
  if (holder != NULL) holder->fresh = false;
}
