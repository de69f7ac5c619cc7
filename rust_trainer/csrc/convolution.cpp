// A convolution in libtorch's graph whose arithmetic is ours: what src/nn/convolution.rs is called with goes
// to src/nn/kernels. Tensors are contiguous here, and channels last: that file asks for it.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <array>
#include <cstddef>
#include <exception>
#include <mutex>
#include <string>

namespace {

using at::Tensor;
using torch::autograd::SavedVariable;

// As in src/nn/kernels/mod.rs, which states the same sizes.
struct Conv {
  size_t images, height, width, channels, kernel, stride, outputs;
  bool rectified, of_bytes, channels_first, bfloat16;
};

struct Gradients {
  void* x;
  float* weight;
  float* bias;
};

struct Kernels {
  void (*forward)(const Conv*, const void* x, const float* weight, const float* bias, void* y);
  void (*backward)(const Conv*, const void* x, const float* weight, const void* y, const void* of_y,
                   const Gradients*);
};

constexpr size_t WORD = 8;
static_assert(sizeof(size_t) == WORD && sizeof(void*) == WORD && sizeof(bool) == 1);
static_assert(sizeof(Conv) == 8 * WORD && offsetof(Conv, outputs) == 6 * WORD &&
              offsetof(Conv, rectified) == 7 * WORD && offsetof(Conv, bfloat16) == 7 * WORD + 3);
static_assert(sizeof(Gradients) == 3 * WORD && offsetof(Gradients, bias) == 2 * WORD);
static_assert(sizeof(Kernels) == 2 * WORD && offsetof(Kernels, backward) == WORD);

// Why the last call of this thread failed.
thread_local std::string error;

struct Backward : torch::autograd::Node {
  Conv conv;
  const Kernels* kernels;
  SavedVariable x, weight, y;

  torch::autograd::variable_list apply(torch::autograd::variable_list&& of_outputs) override {
    TORCH_CHECK(!at::GradMode::is_enabled(), "this convolution has no second derivatives");
    if (!of_outputs[0].defined()) return {Tensor(), Tensor(), Tensor()};
    std::lock_guard<std::mutex> lock(mutex_);
    Tensor of_y = of_outputs[0].contiguous(), x = this->x.unpack(), weight = this->weight.unpack();
    Tensor y = conv.rectified ? this->y.unpack(shared_from_this()) : of_y;
    Tensor of_x = task_should_compute_output(0) ? at::empty_like(x) : Tensor();
    Tensor of_weight = at::empty_like(weight), of_bias = weight.new_empty(weight.size(0));
    Gradients of{of_x.defined() ? of_x.data_ptr() : nullptr, of_weight.data_ptr<float>(),
                 of_bias.data_ptr<float>()};
    kernels->backward(&conv, x.const_data_ptr(), weight.const_data_ptr<float>(), y.const_data_ptr(),
                      of_y.const_data_ptr(), &of);
    return {of_x, of_weight, of_bias};
  }

  void release_variables() override {
    for (SavedVariable* saved : {&x, &weight, &y}) saved->reset_data();
  }

  std::string name() const override { return "ConvolutionBackward"; }
};

Tensor convolution(const Conv& conv, const Kernels& kernels, const Tensor& x, const Tensor& weight,
                   const Tensor& bias) {
  auto pixels = [&](size_t length) {
    return static_cast<int64_t>((length - conv.kernel) / conv.stride + 1);
  };
  int64_t images = x.size(0), height = pixels(conv.height), width = pixels(conv.width),
          outputs = weight.size(0);
  std::array<int64_t, 4> last{images, height, width, outputs}, first{images, outputs, height, width};
  Tensor y = at::empty(conv.channels_first ? first : last,
                       x.options().dtype(conv.bfloat16 ? at::kBFloat16 : at::kFloat));
  kernels.forward(&conv, x.const_data_ptr(), weight.const_data_ptr<float>(),
                  bias.const_data_ptr<float>(), y.data_ptr());
  if (!torch::autograd::compute_requires_grad(x, weight, bias)) return y;
  std::shared_ptr<Backward> node(new Backward(), torch::autograd::deleteNode);
  node->conv = conv;
  node->kernels = &kernels;
  node->set_next_edges(torch::autograd::collect_next_edges(x, weight, bias));
  torch::autograd::set_history(y, node);
  node->x = SavedVariable(x, false);
  node->weight = SavedVariable(weight, false);
  if (conv.rectified) node->y = SavedVariable(y, true);
  return y;
}

}  // namespace

// The result is the caller's; none where libtorch threw: trainer_convolution_error() then says what.
extern "C" Tensor* trainer_convolution(const Conv* conv, const Kernels* kernels, const Tensor* x,
                                       const Tensor* weight, const Tensor* bias) {
  try {
    return new Tensor(convolution(*conv, *kernels, *x, *weight, *bias));
  } catch (const c10::Error& thrown) {
    error = thrown.what_without_backtrace();
  } catch (const std::exception& thrown) {
    error = thrown.what();
  } catch (...) {
    error = "an exception of an unknown type";
  }
  return nullptr;
}

extern "C" const char* trainer_convolution_error() { return error.c_str(); }
