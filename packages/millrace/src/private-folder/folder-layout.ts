/** The names of private folders and of their contents. */

export const folderPrefix = 'millrace-server-';
/** Prefix, process id, and what `mkdtemp` adds. */
export const folderName = /^millrace-server-(\d{1,10})-[A-Za-z0-9]{6}$/;
/** Of a folder that a supervisor has made and no router has locked yet. */
export const firstFolderName = /^\.millrace-server-\d{1,10}-[A-Za-z0-9]{6}$/;
export const lockFile = 'lock';
export const childrenFolder = 'children';
/** What outlives a restart of the router. */
export const lastingFolder = 'lasting';
