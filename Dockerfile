# loadaware serve, as the chart runs it: docker build --tag registry.example.com/loadaware:0.1.0 .
# Dependencies are pinned by hash in requirements/run.txt, what `history` needs in requirements/history.txt. Pin the base, too: --build-arg PYTHON=python:3.13-slim@sha256:...
ARG PYTHON=python:3.13-slim

FROM ${PYTHON} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /source
RUN python -m venv --without-pip /opt/loadaware
COPY requirements/run.txt requirements/history.txt requirements/
RUN pip --python /opt/loadaware/bin/python install --require-hashes --only-binary :all: -r requirements/run.txt \
    -r requirements/history.txt
COPY pyproject.toml README.md LICENSE ./
COPY collectors collectors
COPY loadaware loadaware
RUN pip --python /opt/loadaware/bin/python install --no-deps --no-build-isolation . \
 && rm -rf /opt/loadaware/lib/python3.*/site-packages/pandas/tests

FROM ${PYTHON}
COPY --from=build /opt/loadaware /opt/loadaware
ENV PATH=/opt/loadaware/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8090 8091
ENTRYPOINT ["/opt/loadaware/bin/loadaware"]
CMD ["serve"]
