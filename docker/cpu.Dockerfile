# The trainer on processors: the wheels of ./scripts/wheels on Python's own image. torch is the build for CPUs of
# TORCH_INDEX_URL, where that is given; the one of the default index has CUDA, and is 3 GB larger.
#
#   ./scripts/wheels && docker build -f docker/cpu.Dockerfile -t atari-trainer .
#   mkdir -p runs && docker run --rm -v "$PWD/runs:/work/runs" atari-trainer train ppo-atari
#
# Never built: hadolint reads it, no engine was there to run it.
FROM python:3.12-slim-bookworm

ARG TORCH_INDEX_URL=""
WORKDIR /work
RUN --mount=type=bind,source=dist,target=/dist \
    --mount=type=bind,source=constraints.txt,target=/constraints.txt \
    if [ -n "$TORCH_INDEX_URL" ]; then \
        pip install --no-cache-dir --index-url "$TORCH_INDEX_URL" "torch==2.11.0"; \
    fi \
    && pip install --no-cache-dir --find-links /dist --constraint /constraints.txt atari-trainer "atari-wrappers[opencv,video]"

RUN useradd --create-home --uid 1000 trainer && chown trainer /work
USER 1000
ENTRYPOINT ["rust_trainer"]
CMD ["--help"]
