// Everything.
#pragma once
#include "launch.cuh"
#include "smx.hpp"
