/** `demo load`: fewer events and failures. */
export const isLoad = (name: string) => /^(?:load-|CLOAD)/.test(name);
