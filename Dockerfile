# The command line and the local page of propense, without a compiler and without root.
#   docker build --tag propense .
#   docker run --rm --volume "$PWD:/data" propense fit patients.csv --label reported
# The page answers this machine only, so the container shares its network (on Linux):
#   docker run --rm --network host --volume "$PWD:/data" propense serve --no-browser --folder /data/serve
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/propense \
 && /opt/propense/bin/pip install --no-cache-dir '.[cli,report,excel,ui]'

FROM python:3.13-slim
COPY --from=build /opt/propense /opt/propense
RUN useradd --create-home --uid 1000 analyst
USER 1000
WORKDIR /data
ENV PATH="/opt/propense/bin:$PATH" MPLCONFIGDIR=/tmp
ENTRYPOINT ["propense"]
CMD ["--help"]
