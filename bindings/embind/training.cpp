// Bindings of the trainer, for a core of its own: 'ropewalk/training'.
#include "training/trainer.h"

#include <emscripten/bind.h>

#include "calls.h"

namespace ropewalk::binding {
namespace {

using Trainer = training::Trainer<float>;

training::Batch<float> batchOf(const BatchCall& c) {
  return {{at<int32_t>(c.ids), c.batch, c.tokens}, at<int32_t>(c.targets), at<float>(c.weights)};
}

int createTrainer(Trainer& trainer, Pointer fields) {
  return number(trainer.create(readCall<TrainerOptions>(fields)));
}

int step(Trainer& trainer, Pointer fields, Pointer report) {
  const training::StepResult result = trainer.step(batchOf(readCall<BatchCall>(fields)));
  writeResult(report, StepReport{result.not_finite, reinterpret_cast<Pointer>(result.tensor.data()),
                                 result.tensor.size(), result.step, result.loss, result.gradient_norm,
                                 result.learning_rate});
  return number(result.status);
}

int evaluate(Trainer& trainer, Pointer fields) {
  const auto c = readCall<EvaluateCall>(fields);
  TrainedPositionOptions position;
  if (c.position != 0) position = readCall<TrainedPositionOptions>(c.position);
  return number(trainer.evaluate(batchOf(c.batch), at<double>(c.loss),
                                 {at<float>(c.losses), at<int32_t>(c.predictions), at<float>(c.logits)},
                                 c.position == 0 ? nullptr : &position));
}

int capture(Trainer& trainer, Pointer fields, Pointer maps) {
  return number(trainer.capture(batchOf(readCall<BatchCall>(fields)).sequences, at<float>(maps)));
}

size_t parameterCount(const Trainer& trainer) {
  return trainer.layout().count();
}
void parameterAt(const Trainer& trainer, size_t i, Pointer out) {
  const training::Parameter& p = trainer.layout()[i];
  const std::string_view name = p.name;
  writeResult(out, TrainedParameter{reinterpret_cast<Pointer>(name.data()), name.size(), p.shape.rows,
                                    p.shape.columns, p.offset});
}
Pointer parameters(Trainer& trainer) {
  return reinterpret_cast<Pointer>(trainer.parameters());
}
Pointer gradients(const Trainer& trainer) {
  return reinterpret_cast<Pointer>(trainer.gradients());
}
double steps(const Trainer& trainer) {
  return static_cast<double>(trainer.steps());
}

void save(const Trainer& trainer, Pointer bytes) {
  trainer.save(at<void>(bytes));
}
int restore(Trainer& trainer, Pointer bytes, size_t size) {
  return number(trainer.restore(at<void>(bytes), size));
}

}  // namespace
}  // namespace ropewalk::binding

EMSCRIPTEN_BINDINGS(training) {
  using namespace emscripten;
  using namespace ropewalk::binding;

  class_<Trainer>("Trainer")
      .constructor<>()
      .property("steps", &steps)
      .property("stateBytes", &Trainer::stateBytes)
      .property("parameterCount", &parameterCount)
      .function("parameters", &parameters)
      .function("gradients", &gradients)
      .function("create", &createTrainer)
      .function("step", &step)
      .function("evaluate", &evaluate)
      .function("capture", &capture)
      .function("parameterAt", &parameterAt)
      .function("save", &save)
      .function("restore", &restore);
}
