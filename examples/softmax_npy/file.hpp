// Whole files in and out: an output appears under its name only when it is complete.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace file {

inline std::runtime_error failure(std::string const& path, char const* what) {
    return std::runtime_error(path + ": " + what + ": " + std::strerror(errno));
}

inline std::vector<unsigned char> read(std::string const& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) throw std::runtime_error(path + ": is a directory");
    if (std::filesystem::is_character_file(path, ignored) || std::filesystem::is_block_file(path, ignored))
        throw std::runtime_error(path + ": is a device");  // and may have no end
    std::FILE* const stream = std::fopen(path.c_str(), "rb");
    if (!stream) throw failure(path, "cannot be opened");
    std::vector<unsigned char> bytes;
    auto const size = std::filesystem::file_size(path, ignored);
    // One byte more than the size, so that the end of the file is met without growing the buffer.
    bytes.resize(ignored ? std::size_t{1} << 16 : static_cast<std::size_t>(size) + 1);
    std::size_t used = 0;
    while (std::size_t const got = std::fread(bytes.data() + used, 1, bytes.size() - used, stream)) {
        used += got;
        if (used == bytes.size()) bytes.resize(2 * used);
    }
    bool const failed = std::ferror(stream) != 0;
    std::fclose(stream);
    if (failed) throw failure(path, "cannot be read");
    bytes.resize(used);
    return bytes;
}

// A file that is written beside its place and moved there by commit(); without commit() nothing is left.
class output {
public:
    explicit output(std::string const& path) : name_(path), target_(path) {
        std::error_code error;
        // A link stays a link: what it points to is replaced.
        if (std::filesystem::is_symlink(target_, error)) target_ = std::filesystem::weakly_canonical(target_, error);
        bool const exists = std::filesystem::exists(target_, error);
        if (exists && std::filesystem::is_directory(target_, error))
            throw std::runtime_error(path + ": is a directory");
        // A device or a pipe is written in place; renaming over it would replace it.
        in_place_ = exists && !std::filesystem::is_regular_file(target_, error);
        written_ = in_place_ ? target_ : std::filesystem::path(target_.string() + ".part" + std::to_string(::getpid()));
        stream_ = std::fopen(written_.c_str(), "wb");
        if (!stream_) throw failure(name_, "cannot be written");
    }
    output(output const&) = delete;
    output& operator=(output const&) = delete;
    ~output() {
        if (stream_) std::fclose(stream_);
        if (!in_place_ && !moved_) std::remove(written_.c_str());
    }

    void write(void const* bytes, std::size_t size) {
        if (size != 0 && std::fwrite(bytes, 1, size, stream_) != size) throw failure(name_, "cannot be written");
    }

    // Everything is on its way to the disk after this, still under the temporary name.
    void close() {
        if (stream_ && std::fclose(std::exchange(stream_, nullptr)) != 0) throw failure(name_, "cannot be written");
    }

    void commit() {
        close();
        if (!in_place_ && std::rename(written_.c_str(), target_.c_str()) != 0)
            throw failure(name_, "cannot be written");
        moved_ = true;
    }

private:
    std::string name_;
    std::filesystem::path target_, written_;
    std::FILE* stream_ = nullptr;
    bool in_place_ = false, moved_ = false;
};

}  // namespace file
