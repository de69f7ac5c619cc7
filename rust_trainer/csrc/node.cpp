// Nodes of libtorch's graph whose arithmetic is ours: src/nn/node.rs hands them over.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <mutex>
#include <vector>

#include "guarded.h"

namespace {

using at::Tensor;

// What Rust wants to know of the forward pass; who computes the gradients of the inputs from that of the output, those that
// are not wanted being undefined; who forgets it; and who says where the gradient of what lies at an address is wanted, null
// for anywhere.
struct Saved {
  void* state;
  // Null, or why it failed.
  const char* (*backward)(void* state, const Tensor* of_output, Tensor* const* of_inputs);
  void (*drop)(void* state);
  const Tensor* (*place)(const void* address);
};

struct Node : torch::autograd::Node {
  Saved saved;
  // Without their histories.
  std::vector<Tensor> inputs;
  // So many of the first inputs have gradients only where these are wanted.
  size_t optional;

  ~Node() override { release_variables(); }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& of_outputs) override {
    TORCH_CHECK(!at::GradMode::is_enabled(), "this layer has no second derivatives");
    torch::autograd::variable_list of_inputs(inputs.size());
    if (!of_outputs[0].defined()) return of_inputs;
    std::lock_guard<std::mutex> lock(mutex_);
    TORCH_CHECK(saved.state, "a second backward pass through what the first one has forgotten");
    const Tensor of_output = of_outputs[0].contiguous();
    std::vector<Tensor*> places;
    for (size_t input = 0; input < inputs.size(); ++input) {
      if (input >= optional || task_should_compute_output(input)) {
        const Tensor* place = saved.place(inputs[input].const_data_ptr());
        of_inputs[input] = place ? *place : at::empty_like(inputs[input]);
      }
      places.push_back(&of_inputs[input]);
    }
    const char* problem = saved.backward(saved.state, &of_output, places.data());
    TORCH_CHECK(!problem, problem);
    return of_inputs;
  }

  void release_variables() override {
    if (saved.state) saved.drop(saved.state);
    saved.state = nullptr;
  }

  std::string name() const override { return "RustBackward"; }
};

}  // namespace

extern "C" {

// Whether a graph is being made here and one of the tensors wants gradients.
bool trainer_wants_gradients(const Tensor* const* inputs, size_t count) {
  bool wants = false;
  for (size_t input = 0; input < count; ++input) wants |= inputs[input]->requires_grad();
  return wants && at::GradMode::is_enabled();
}

// Has gradients of `output`, which was made of the inputs, flow back to them. What is saved is the node's from here on, or
// forgotten.
int trainer_node(Tensor* output, const Tensor* const* inputs, size_t count, size_t optional, Saved saved) {
  return guarded([&] {
    std::shared_ptr<Node> node(new Node(), torch::autograd::deleteNode);
    node->saved = saved;
    node->optional = optional;
    torch::autograd::edge_list edges;
    for (size_t input = 0; input < count; ++input) {
      edges.push_back(torch::autograd::impl::gradient_edge(*inputs[input]));
      node->inputs.push_back(inputs[input]->detach());
    }
    node->set_next_edges(std::move(edges));
    torch::autograd::set_history(*output, node);
  });
}

}  // extern "C"
