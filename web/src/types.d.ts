declare module 'virtual:core' {
  /** The core: WebAssembly, gzip, base64. */
  const packed: string;
  export default packed;
}
declare module 'virtual:scenarios' {
  /** The scenarios of the repository, with the files that they name. */
  const scenarios: { name: string; text: string; files: Record<string, { base64: string }> }[];
  export default scenarios;
}
declare module 'virtual:notices' {
  /** The licences of what the page contains. */
  const notices: { name: string; version: string; text: string }[];
  export default notices;
}
