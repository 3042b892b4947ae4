// Arguments of the form --name=value.
#pragma once
#include <cstring>
#include <string>

namespace bench {

// True where the argument begins with `name`, which ends in '='; `value` is then what follows.
inline bool value_of(std::string const& argument, char const* name, std::string& value) {
    if (argument.rfind(name, 0) != 0) return false;
    value = argument.substr(std::strlen(name));
    return true;
}

}  // namespace bench
