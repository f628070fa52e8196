/** The files API's types, under the names used here. */
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type Roots = Schemas['RootsOut'];
export type Root = Schemas['RootOut'];
export type Space = Pick<Schemas['RootSpaceOut'], 'free_bytes' | 'total_bytes' | 'quota'>;
export type Place = Schemas['PlaceOut'];
export type Entry = Schemas['EntryOut'];
export type FolderPage = Schemas['FolderPage'];
export type Preview = Schemas['PreviewOut'];
export type Table = Schemas['TableOut'];
export type Notebook = Schemas['NotebookPreview'];
export type Cell = Schemas['CellOut'];
export type CellOutput = Schemas['CellOutputOut'];
export type FileText = Schemas['TextOut'];
export type TextIn = Schemas['TextIn'];
export type TrashItem = Schemas['TrashItem'];
export type Upload = Schemas['UploadOut'];
export type Problem = Schemas['ProblemOut'];

/** A root with the relative path of a folder or file in it, without a leading "/". */
export interface FileLocation {
  root: string;
  path: string;
}

/** Return whether an entry opens as a folder; a link counts as its target. */
export const isFolder = (entry: Entry): boolean =>
  entry.kind === 'folder' || entry.target_kind === 'folder';

export const isFile = (entry: Entry): boolean =>
  entry.kind === 'file' || entry.target_kind === 'file';
