// Names the modules of the TypeScript reference as they are imported: `syncline/connector`, not `connector-kit`.
import { readFileSync } from 'node:fs';
import { Converter, ReflectionKind } from 'typedoc';

const { name, exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const imports = new Map(
  Object.entries(exports)
    .filter(([, { types }]) => types)
    .map(([path, { types }]) => [moduleOf(types), `${name}${path.slice(1)}`]),
);

/** `./dist/testing/index.d.ts` is the module `testing`; `./dist/index.d.ts` is `index`. */
function moduleOf(types) {
  return types.replace(/^\.\/dist\//, '').replace(/(\/index)?\.d\.ts$/, '');
}

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.getReflectionsByKind(ReflectionKind.Module))
      module.name = imports.get(module.name.replace(/\/index$/, '')) ?? module.name;
  });
}
