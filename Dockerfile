# Three images: `web` has no torch, `worker` has everything, `worker-gpu` also a compiler and a reader of GPUs. docker-compose.yml builds both; .dockerignore names what
# reaches them.

FROM node:24-slim AS pages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund

FROM python:3.12-slim AS base
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    DRAFTHOUSE_DATA=/data HF_HOME=/data/huggingface
RUN useradd --create-home --uid 1000 drafthouse && mkdir /data && chown drafthouse /data
WORKDIR /app
VOLUME /data

FROM base AS web
COPY requirements-web.txt ./
RUN pip install -r requirements-web.txt
COPY . .
COPY --from=pages /app/static/vendor static/vendor
ARG COMMIT=""
ENV DRAFTHOUSE_COMMIT=$COMMIT
USER drafthouse
EXPOSE 8000
CMD ["python", "-m", "webapp.config.server", "--host", "0.0.0.0", "--port", "8000"]

FROM base AS worker
# CPU: https://download.pytorch.org/whl/cpu has the small build; without an index pip takes the one with CUDA.
ARG TORCH_INDEX=""
COPY requirements-web.txt requirements.txt ./
RUN torch="$(grep '^torch==' requirements.txt)" \
    && pip install ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "$torch" \
    && pip install -r requirements.txt
COPY . .
# numba keeps compiled kernels there; the rest of the file system is read-only.
ENV GLIBC_TUNABLES=glibc.malloc.hugetlb=1 NUMBA_CACHE_DIR=/tmp/numba
ARG COMMIT=""
ENV DRAFTHOUSE_COMMIT=$COMMIT
USER drafthouse
ENTRYPOINT ["python", "-m", "worker"]
CMD ["--queue", "cpu"]

FROM worker AS worker-gpu
USER root
# Triton compiles a launcher for each kernel, which takes a C compiler and a folder whose files may be run.
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/* \
    && pip install nvidia-ml-py==13.580.126
ENV TRITON_CACHE_DIR=/tmp/triton
USER drafthouse
CMD ["--queue", "gpu"]
