// A layer of libtorch's graph whose arithmetic is ours: src/nn/convolution.rs computes both passes.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <array>
#include <mutex>

#include "guarded.h"

namespace {

using at::Tensor;
using torch::autograd::SavedVariable;

// What Rust wants to know of the layer in its backward pass, `Layer` there.
using Layer = std::array<size_t, 9>;

// x, the weights, y and its gradient; then where to write the gradients of x, unless it is undefined, of the weights
// and of the biases.
using Tensors = std::array<const Tensor*, 7>;

struct Backward : torch::autograd::Node {
  Layer layer;
  void (*compute)(const Layer*, const Tensors*);
  SavedVariable x, weight, y;
  bool needs_y;

  torch::autograd::variable_list apply(torch::autograd::variable_list&& of_outputs) override {
    TORCH_CHECK(!at::GradMode::is_enabled(), "this convolution has no second derivatives");
    if (!of_outputs[0].defined()) return {Tensor(), Tensor(), Tensor()};
    std::lock_guard<std::mutex> lock(mutex_);
    Tensor of_y = of_outputs[0].contiguous(), x = this->x.unpack(), weight = this->weight.unpack();
    Tensor y = needs_y ? this->y.unpack(shared_from_this()) : of_y;
    Tensor of_x = task_should_compute_output(0) ? at::empty_like(x) : Tensor();
    Tensor of_weight = at::empty_like(weight), of_bias = weight.new_empty(weight.size(0));
    const Tensors tensors{&x, &weight, &y, &of_y, &of_x, &of_weight, &of_bias};
    compute(&layer, &tensors);
    return {of_x, of_weight, of_bias};
  }

  void release_variables() override {
    for (SavedVariable* saved : {&x, &weight, &y}) saved->reset_data();
  }

  std::string name() const override { return "ConvolutionBackward"; }
};

}  // namespace

// Has gradients of `y`, which the layer made of the others, flow back through it, where any are wanted.
extern "C" int trainer_node(Tensor* y, const Tensor* x, const Tensor* weight, const Tensor* bias, const Layer* layer,
                            void (*backward)(const Layer*, const Tensors*), bool needs_y) {
  return guarded([&] {
    if (!torch::autograd::compute_requires_grad(*x, *weight, *bias)) return;
    std::shared_ptr<Backward> node(new Backward(), torch::autograd::deleteNode);
    node->layer = *layer;
    node->compute = backward;
    node->needs_y = needs_y;
    node->set_next_edges(torch::autograd::collect_next_edges(*x, *weight, *bias));
    torch::autograd::set_history(*y, node);
    node->x = SavedVariable(*x, false);
    node->weight = SavedVariable(*weight, false);
    if (needs_y) node->y = SavedVariable(*y, true);
  });
}
