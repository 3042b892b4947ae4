// Masks of the user's own, for the CPU and the GPU: a sliding window, a window with global tokens, and a bare
// condition.
#pragma once
#include <smx/smx.hpp>

// [window]
// Key k is visible to query q if it is one of the `width` keys up to and including q.
struct sliding_window {
    int width;

    // What one row sees. An exact span and nothing more: no key outside it is read, none inside is tested.
    struct row {
        smx::interval seen;
        SMX_HD smx::interval span() const { return seen; }
    };

    SMX_HD row bind(smx::row_id id, smx::extents) const {
        int const end = id.query < id.cols ? static_cast<int>(id.query) + 1 : id.cols;
        return {{end > width ? end - width : 0, end}};
    }
};
// [/window]

// [global]
// The same, and the first `globals` keys are visible to every query. The span covers both parts; a test says what lies
// between.
struct window_and_globals {
    int width, globals;

    struct row {
        smx::interval window;
        int globals;

        SMX_HD smx::interval span() const { return smx::hull({0, globals}, window); }

        static constexpr bool tests = true;

        // Bit i says whether column col + i is visible; bits outside the span do not matter.
        template <int V>
        SMX_HD unsigned visible(int col) const {
            unsigned bits = 0;
            SMX_UNROLL
            for (int i = 0; i < V; ++i) {
                bool const seen = col + i < globals || (col + i >= window.begin && col + i < window.end);
                bits |= static_cast<unsigned>(seen) << i;
            }
            return bits;
        }
    };

    SMX_HD row bind(smx::row_id id, smx::extents shape) const {
        return {sliding_window{width}.bind(id, shape).span(), globals < id.cols ? globals : id.cols};
    }
};
// [/global]

// [condition]
// Any condition on a row and a column: every key is read and tested.
struct same_parity {
    SMX_HD bool operator()(smx::row_id row, int col) const { return (row.query - col) % 2 == 0; }
};

inline auto strided() { return smx::visible_where(same_parity{}); }
// [/condition]

// What the masks say, in one line each, to compare with.
inline bool in_window(long long query, int key, int width) { return key <= query && key > query - width; }
