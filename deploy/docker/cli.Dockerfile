# Image of the `syncline` command, built from this repository:
#   docker build -f deploy/docker/cli.Dockerfile -t syncline .
# Mount syncline.config.ts and your connectors below /app, or build your own image with app.Dockerfile.

FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY scripts ./scripts
COPY src ./src
RUN npm run build && npm prune --omit=dev --omit=peer --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    SYNCLINE_SERVER_HOST=0.0.0.0 \
    SYNCLINE_SERVER_PORT=4400 \
    SYNCLINE_METRICS_HOST=0.0.0.0 \
    SYNCLINE_METRICS_PORT=9464
WORKDIR /app
COPY --from=build /src/node_modules ./node_modules
COPY --from=build /src/dist ./node_modules/syncline/dist
COPY package.json LICENSE ./node_modules/syncline/
USER 1000:1000
EXPOSE 4400 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.SYNCLINE_METRICS_PORT + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/node_modules/syncline/dist/cli/main.js"]
CMD ["start"]
