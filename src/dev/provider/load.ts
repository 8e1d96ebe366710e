/** Whether `demo load` created it; such accounts have fewer events and failures. */
export const isLoad = (name: string) => /^(?:load-|CLOAD)/.test(name);
