/** Whether `demo load` made it. There are thousands of those, so they are quieter and have less trouble than others. */
export const isLoad = (name: string) => /^(?:load-|CLOAD)/.test(name);
