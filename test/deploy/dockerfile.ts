import { readDeployed } from './files.ts';

export interface Instruction {
  name: string;
  text: string;
}

/** Instructions with continuation lines joined, by stage. */
export function readDockerfile(path: string): { name: string; base: string; instructions: Instruction[] }[] {
  const lines = readDeployed(path)
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line !== '');
  const stages: { name: string; base: string; instructions: Instruction[] }[] = [];
  for (const line of lines) {
    const [, name = '', text = ''] = /^(\w+) +(.*)$/.exec(line) ?? [];
    const from = /^(\S+)(?: AS (\S+))?$/.exec(text);
    if (name === 'FROM') stages.push({ name: from?.[2] ?? '', base: from?.[1] ?? '', instructions: [] });
    else stages.at(-1)?.instructions.push({ name, text });
  }
  return stages;
}

/** The image that the last stage describes. */
export function readImage(path: string) {
  const instructions = readDockerfile(path).at(-1)?.instructions ?? [];
  const textOf = (wanted: string) => instructions.find(({ name }) => name === wanted)?.text ?? '';
  const array = (text: string) => JSON.parse(text) as string[];
  return {
    user: textOf('USER'),
    env: Object.fromEntries(
      textOf('ENV')
        .split(/ +/)
        .map((pair) => pair.split('=') as [string, string]),
    ),
    exposed: textOf('EXPOSE').split(' '),
    entrypoint: array(textOf('ENTRYPOINT')),
    command: array(textOf('CMD')),
    healthcheck: array(textOf('HEALTHCHECK').replace(/^.*? CMD /, '')),
  };
}
