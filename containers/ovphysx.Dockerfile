# A server of ovphysx environments, whose packages do not go with the newest of the rest.
#
# The licence first. ovphysx and its schemas are NVIDIA's: by downloading or using ovphysx, you agree to the NVIDIA Omniverse
# terms, https://www.nvidia.com/en-us/agreements/enterprise-software/product-specific-terms-for-omniverse. Building this
# image downloads them, for you; do not pass the image on. Nothing of NVIDIA's is part of this project.
#
# From the checkout:
#   docker build -f containers/ovphysx.Dockerfile --build-arg ACCEPT_OMNIVERSE_TERMS=yes -t benchmark_app-ovphysx .
#   docker run --rm --init --network host --user "$(id -u):$(id -g)" -v "$HOME/serve.token:/token:ro" \
#     benchmark_app-ovphysx cartpole physics=ovphysx --token-file /token --port 5555 --logs /tmp
# docs/execution.md has the rest.
FROM python:3.11-slim-bookworm

ARG ACCEPT_OMNIVERSE_TERMS=no
RUN test "$ACCEPT_OMNIVERSE_TERMS" = yes || { \
      echo "Read the NVIDIA Omniverse terms; if you agree, add --build-arg ACCEPT_OMNIVERSE_TERMS=yes" >&2; exit 1; }

# What the wheels link to beyond the base image (ldd), whether or not anything is drawn.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libgomp1 libgl1 libopengl0 libxt6 \
 && rm -rf /var/lib/apt/lists/*

# What changes seldom comes first. A CPU build of torch saves gigabytes; a GPU wants the default index.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
WORKDIR /app
COPY constraints-ovphysx.txt .
RUN grep '^torch==' constraints-ovphysx.txt > torch.txt \
 && pip install --no-cache-dir --index-url "$TORCH_INDEX" -r torch.txt
COPY pyproject.toml LICENSE README.md ./
COPY conf conf
COPY tasks tasks
COPY benchmark_app benchmark_app
RUN pip install --no-cache-dir --constraint constraints-ovphysx.txt '.[ovphysx]' && rm -rf /app

# Any user may run it: kernels are compiled into a folder of its own.
WORKDIR /tmp
ENV WARP_CACHE_PATH=/tmp/warp HOME=/tmp PYTHONUNBUFFERED=1
ENTRYPOINT ["python", "-m", "benchmark_app", "serve"]
CMD ["--help"]
