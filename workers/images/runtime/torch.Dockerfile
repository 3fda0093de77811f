# podium/runtime-torch: podium/runtime with PyTorch. site-packages/ is filled on the host, as for podium/runtime, with all
# packages anew: two versions of one package would lie in one folder otherwise.
ARG RUNTIME=podium/runtime:1
FROM ${RUNTIME}
USER 0:0
RUN find /usr/local/lib/python3.11/dist-packages -mindepth 1 -maxdepth 1 ! -name scoring -exec rm -rf {} +
COPY site-packages/ /usr/local/lib/python3.11/dist-packages/
# Torch's own tests hold syntax of later Pythons.
RUN python3 -m compileall -q -j 0 -x torch/testing /usr/local/lib/python3.11/dist-packages
USER 10001:10001
