# The trainer on GPUs: as cpu.Dockerfile, with the torch of the default index, whose packages bring CUDA 13 along. The
# host brings its driver, by the NVIDIA Container Toolkit.
#
#   ./scripts/wheels && docker build -f docker/cuda.Dockerfile -t atari-trainer:cuda .
#   mkdir -p runs && docker run --rm --gpus all -v "$PWD/runs:/work/runs" atari-trainer:cuda train ppo-atari --device cuda
#
# Never built: hadolint reads it, no engine was there to run it.
FROM python:3.12-slim-bookworm

# What the toolkit of the host hands in.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /work
RUN --mount=type=bind,source=dist,target=/dist \
    --mount=type=bind,source=constraints.txt,target=/constraints.txt \
    pip install --no-cache-dir --find-links /dist --constraint /constraints.txt atari-trainer "atari-wrappers[opencv,video]"

RUN useradd --create-home --uid 1000 trainer && chown trainer /work
USER 1000
ENTRYPOINT ["rust_trainer"]
CMD ["doctor"]
