# The lab in a container: set up, on CPUs, not as root. It holds the folder it is built from, so build
# what you hand out from a student's copy: docker build -t lab my-lab
FROM python:3.13-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*

# Binder and many JupyterHubs expect this user. OpenShift starts the image as another one, of any
# number, without a home, and always of group 0: that group may do what the owner may.
ARG NB_USER=jovyan
ARG NB_UID=1000
RUN useradd --create-home --uid ${NB_UID} --gid 0 ${NB_USER}
WORKDIR /home/${NB_USER}/distributed-ml-lab
RUN chown ${NB_UID}:0 .
COPY --chown=${NB_UID}:0 . .
USER ${NB_UID}

ENV HOME=/home/${NB_USER} LAB_TORCH=cpu PIP_NO_CACHE_DIR=1
RUN python tools/install.py && chmod -R g=u ${HOME}
ENV PATH="/home/${NB_USER}/distributed-ml-lab/.venv/bin:${PATH}"

EXPOSE 8888
# Inside a container 127.0.0.1 is the container's own: the port that docker publishes is another.
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser", "--ServerApp.root_dir=.", "--LabApp.default_url=/lab/tree/notebooks/00_welcome.ipynb"]
