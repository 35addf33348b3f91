// weft/profile.h: which lines of a program become which kernels, and what they cost.
#pragma once

#include <weft/api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace WEFT_API weft {

// While one exists, ops remember where they were called, so that explain() can say which lines a kernel came from. It costs up to a
// microsecond per op, and changes neither plans nor caches.
class Inspection {
public:
    Inspection();
    ~Inspection();
    Inspection(const Inspection&) = delete;
    Inspection& operator=(const Inspection&) = delete;

private:
    std::shared_ptr<void> log_;
};

// Records what the program does, from now until stop(): kernels, plans, memory, lines. One at a time.
//   Profile profile;
//   train();
//   profile.stop();
//   profile.save("run.html");            // or "run.json": docs/profile-format.md
class Profile {
public:
    // The numbers of docs/profile-format.md.
    enum class Event : std::uint8_t { Kernel, Compile, Run, Wait, Data, Region, Step, Copy };

    explicit Profile(std::string title = "");
    ~Profile();
    Profile(const Profile&) = delete;
    Profile& operator=(const Profile&) = delete;

    // Something that the library cannot see: a loader's next batch, a part of the program. Times are those of now().
    void add(Event kind, std::string_view label, std::int64_t start, std::int64_t end);
    static std::int64_t now();  // nanoseconds

    void stop();  // more than once does no harm
    void set_title(std::string title);
    std::string json() const;                  // so far; the machine is measured once it has stopped
    std::string table() const;                 // kernels by time, a line each
    void save(const std::string& path) const;  // "run.html": a page that opens in a browser; "run.json"

private:
    class Log;
    std::unique_ptr<Log> log_;
};

// A part of the program, on the timeline of the profile that records; without one it does nothing.
//   const ProfileRegion region("evaluate");
class ProfileRegion {
public:
    explicit ProfileRegion(std::string_view name, Profile::Event kind = Profile::Event::Region);
    ~ProfileRegion();
    ProfileRegion(const ProfileRegion&) = delete;
    ProfileRegion& operator=(const ProfileRegion&) = delete;

private:
    const Profile::Event kind_;
    const std::int64_t start_;  // -1: nobody records
    std::string name_;
};

// What profiles call this thread, from its next one on; else it has the name that the system knows.
void name_thread(std::string_view name);

// Ops that this thread calls while it lives are shown as one op of this name: an optimiser's step.
class NamedOp {
public:
    explicit NamedOp(std::string_view name);
    ~NamedOp();
    NamedOp(const NamedOp&) = delete;
    NamedOp& operator=(const NamedOp&) = delete;

private:
    struct Scope;
    std::unique_ptr<Scope> scope_;  // null: nobody records
};

// ---- for front ends --------------------------------------------------------------------------------------------------

struct SourceLine {
    std::string file;  // empty: not known
    int line = 0;
    std::string function, module;  // "forward", "model.layers.1.attn"
};
int add_source_line(const SourceLine& line);  // gives its number; equal ones are to be added once
// The text of a file that is on no disk: a notebook's cell.
void add_source_text(const std::string& file, std::string text);
// Called for each op that is recorded, by the thread that calls it: the number of the line where the program stands, -1 if not known.
void set_source_callback(int (*where)());

}  // namespace weft
