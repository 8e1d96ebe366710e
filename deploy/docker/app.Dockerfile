# Image of an application that depends on the package `syncline`: package.json, package-lock.json,
# syncline.config.ts and your connectors. Copy this file to your project as `Dockerfile`, and
# app.Dockerfile.dockerignore as `.dockerignore`.

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev

FROM node:24-bookworm-slim
# All interfaces: probes and Prometheus connect to the address of the container.
ENV NODE_ENV=production \
    SYNCLINE_SERVER_HOST=0.0.0.0 \
    SYNCLINE_SERVER_PORT=4400 \
    SYNCLINE_METRICS_HOST=0.0.0.0 \
    SYNCLINE_METRICS_PORT=9464
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY . .
# The user `node` of the base image; as a number, so that Kubernetes can verify runAsNonRoot.
USER 1000:1000
EXPOSE 4400 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.SYNCLINE_METRICS_PORT + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Exec form: Node is process 1 and receives SIGTERM.
ENTRYPOINT ["node", "/app/node_modules/syncline/dist/cli/main.js"]
CMD ["start"]
