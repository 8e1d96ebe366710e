import { type Endpoint, type OpenApi, type Operation, resolveRef } from './openapi.ts';
import { Prose } from './prose.tsx';
import { SchemaView } from './schema.tsx';

const tones: Record<string, string> = {
  get: 'info',
  post: 'good',
  put: 'warn',
  patch: 'warn',
  delete: 'bad',
};

export function EndpointView({ api, endpoint }: { api: OpenApi; endpoint: Endpoint }) {
  const { anchor, method, path, operation } = endpoint;
  return (
    <section class="panel operation" id={anchor} aria-label={`${method.toUpperCase()} ${path}`}>
      <header>
        <span class={`method tone-${tones[method] ?? 'calm'}`}>{method.toUpperCase()}</span>
        <h3>
          {/* With <base>, a bare fragment would navigate to another page. */}
          <a href={`${location.pathname}#${anchor}`}>{path}</a>
        </h3>
        {operation.summary && <span class="soft">{operation.summary}</span>}
      </header>
      <div class="panel-body">
        {operation.description && (
          <p class="prose">
            <Prose text={operation.description} />
          </p>
        )}
        <Parameters api={api} operation={operation} />
        <Body api={api} operation={operation} />
        <Responses api={api} operation={operation} />
      </div>
    </section>
  );
}

interface Props {
  api: OpenApi;
  operation: Operation;
}

function Parameters({ api, operation }: Props) {
  const parameters = (operation.parameters ?? []).map((parameter) => resolveRef(api, parameter));
  if (parameters.length === 0) return null;
  const locations = [...new Set(parameters.map((parameter) => parameter.in))];
  return (
    <>
      {locations.map((location) => {
        const own = parameters.filter((parameter) => parameter.in === location);
        const properties = Object.fromEntries(
          own.map(({ name, schema, description }) => [
            name,
            { ...schema, ...(description && { description }) },
          ]),
        );
        const required = own.filter((parameter) => parameter.required).map(({ name }) => name);
        return (
          <div key={location}>
            <h4>{`${location.charAt(0).toUpperCase()}${location.slice(1)} parameters`}</h4>
            <SchemaView api={api} schema={{ properties, required }} />
          </div>
        );
      })}
    </>
  );
}

function Body({ api, operation }: Props) {
  if (!operation.requestBody) return null;
  const body = resolveRef(api, operation.requestBody);
  return (
    <>
      {Object.entries(body.content ?? {}).map(([type, { schema }]) => (
        <div key={type}>
          <h4>Request body ({type})</h4>
          {schema && <SchemaView api={api} schema={schema} />}
        </div>
      ))}
    </>
  );
}

type Response = NonNullable<Operation['responses']>[string];

/** Errors are similar for all endpoints. */
function Responses({ api, operation }: Props) {
  const all = Object.entries(operation.responses ?? {}).map(([status, response]): [string, Response] => [
    status,
    resolveRef(api, response),
  ]);
  const problems = all.filter(([status]) => status >= '400');
  return (
    <>
      <h4>Responses</h4>
      {all
        .filter(([status]) => status < '400')
        .map(([status, response]) => (
          <ResponseView key={status} api={api} status={status} response={response} />
        ))}
      {problems.length > 0 && (
        <details class="response">
          <summary>
            Errors <code>{problems.map(([status]) => status).join(' ')}</code>
          </summary>
          {problems.map(([status, response]) => (
            <ResponseView key={status} api={api} status={status} response={response} />
          ))}
        </details>
      )}
    </>
  );
}

interface ResponseProps {
  api: OpenApi;
  status: string;
  response: Response;
}

function ResponseView({ api, status, response: { description, content } }: ResponseProps) {
  const schemas = Object.entries(content ?? {}).flatMap(([type, { schema }]) =>
    schema ? [{ type, schema }] : [],
  );
  if (schemas.length === 0)
    return (
      <p class="response">
        <code>{status}</code> <span class="soft">{description}</span>
      </p>
    );
  return (
    <details class="response">
      <summary>
        <code>{status}</code> <span class="soft">{description}</span>
      </summary>
      {schemas.map(({ type, schema }) => (
        <div key={type}>
          <h4>{type}</h4>
          <SchemaView api={api} schema={schema} />
        </div>
      ))}
    </details>
  );
}
