// The operators without dropout for Python, past torch.ops, which turns every argument into a boxed value and looks it up in the schema.
// A module of its own: the library of the operators is loaded by C++ too, without Python.
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <optional>

namespace {

using maybe_tensor = std::optional<at::Tensor>;
using maybe_int = std::optional<int64_t>;
using maybe_type = std::optional<at::ScalarType>;

// The first arguments of both operators, in the places of their schema; more is only of this function: whether the log-sum-exp is wanted.
enum argument { scores, mask, bias, lengths, scale, diagonal, bottom_right, mask_hides, empty, out_dtype, wants_sums, arguments };

// What torch.ops would not look at twice: tensors that are no subclass, numbers that are no symbols.
bool read(PyObject* given, maybe_tensor& to) {
    if (given == Py_None) return true;
    if (!THPVariable_CheckExact(given)) return false;
    to = THPVariable_Unpack(given);
    return true;
}
bool read(PyObject* given, double& to) {
    if (PyFloat_CheckExact(given)) {
        to = PyFloat_AS_DOUBLE(given);
        return true;
    }
    if (!PyLong_CheckExact(given)) return false;
    to = PyLong_AsDouble(given);
    if (to != -1 || PyErr_Occurred() == nullptr) return true;
    PyErr_Clear();
    return false;
}
bool read(PyObject* given, maybe_int& to) {
    if (given == Py_None) return true;
    if (!PyLong_CheckExact(given)) return false;
    int overflow = 0;
    to = PyLong_AsLongLongAndOverflow(given, &overflow);
    return overflow == 0;
}
bool read(PyObject* given, bool& to) {
    to = given == Py_True;
    return PyBool_Check(given);
}
bool read(PyObject* given, c10::string_view& to) {
    if (!PyUnicode_CheckExact(given)) return false;
    Py_ssize_t bytes = 0;
    char const* const text = PyUnicode_AsUTF8AndSize(given, &bytes);
    if (text == nullptr) {
        PyErr_Clear();
        return false;
    }
    to = c10::string_view(text, static_cast<size_t>(bytes));
    return true;
}
bool read(PyObject* given, maybe_type& to) {
    if (given == Py_None) return true;
    if (!THPDtype_Check(given)) return false;
    to = reinterpret_cast<THPDtype*>(given)->scalar_type;
    return true;
}

struct without_gil {
    PyThreadState* const state = PyEval_SaveThread();
    ~without_gil() { PyEval_RestoreThread(state); }
};

template <class Result>
using operator_type = Result(at::Tensor const&, maybe_tensor const&, maybe_tensor const&, maybe_tensor const&, double, maybe_int, bool, bool,
                             c10::string_view, maybe_type);
template <class Result>
auto find(char const* name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<operator_type<Result>>();
}

PyObject* not_implemented() {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
}

// Gives     what the operator does; NotImplemented for what torch.ops is needed for: a mode or a subclass that wants to see the call, a trace, symbols,
//           or an argument of a wrong type, which it has the words for
PyObject* softmax(PyObject*, PyObject* const* given, Py_ssize_t count) {
    HANDLE_TH_ERRORS
    if (count != arguments || at::impl::torch_function_mode_enabled() || torch::jit::tracer::isTracing()) return not_implemented();
    maybe_tensor masks[3];
    double factor = 1;
    maybe_int last;
    bool from_bottom = false, hides = false, sums = false;
    c10::string_view when_empty;
    maybe_type type;
    bool const is_plain = THPVariable_CheckExact(given[scores]) && read(given[mask], masks[0]) && read(given[bias], masks[1]) &&
                          read(given[lengths], masks[2]) && read(given[scale], factor) && read(given[diagonal], last) &&
                          read(given[bottom_right], from_bottom) && read(given[mask_hides], hides) && read(given[empty], when_empty) &&
                          read(given[out_dtype], type) && read(given[wants_sums], sums);
    if (!is_plain) return not_implemented();
    at::Tensor const x = THPVariable_Unpack(given[scores]);
    if (!sums) {
        static auto const op = find<at::Tensor>("smx::scaled_mask_softmax");
        at::Tensor y;
        {
            without_gil const others_run;
            y = op.call(x, masks[0], masks[1], masks[2], factor, last, from_bottom, hides, when_empty, type);
        }
        return THPVariable_Wrap(std::move(y));
    }
    static auto const op = find<std::tuple<at::Tensor, at::Tensor>>("smx::scaled_mask_softmax_lse");
    std::tuple<at::Tensor, at::Tensor> both;
    {
        without_gil const others_run;
        both = op.call(x, masks[0], masks[1], masks[2], factor, last, from_bottom, hides, when_empty, type);
    }
    return Py_BuildValue("NN", THPVariable_Wrap(std::move(std::get<0>(both))), THPVariable_Wrap(std::move(std::get<1>(both))));
    END_HANDLE_TH_ERRORS
}

PyMethodDef methods[] = {{"softmax", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&softmax)), METH_FASTCALL, nullptr}, {}};
PyModuleDef module{PyModuleDef_HEAD_INIT, "_call", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__call() { return PyModule_Create(&module); }
