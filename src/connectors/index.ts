export { type GithubOptions, github } from './github/index.ts';
