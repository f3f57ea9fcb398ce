declare module 'virtual:core' {
  /** The core: WebAssembly. */
  const core: ArrayBuffer;
  export default core;
}
declare module 'virtual:scenarios' {
  /** The scenarios of the repository, with the files that they name. */
  const scenarios: { name: string; text: string; files: Record<string, import('./share/packed').PackedFile> }[];
  export default scenarios;
}
declare module 'virtual:notices' {
  /** The licences of what the page contains. */
  const notices: { name: string; version: string; text: string }[];
  export default notices;
}
declare module 'virtual:example' {
  /** A controller in C: its source, and the module in base64. */
  const example: { source: string; module: string };
  export default example;
}
