#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the committed PTX of this folder's CUDA sources, so that nobody else needs nvcc.

compile_ptx.py --nvcc NVCC            writes ptx.tar.xz, which has an X.ptx for every X.cu
compile_ptx.py --nvcc NVCC --check    fails if a committed X.ptx is not what X.cu gives

The build unpacks the archive into the folder ptx of its own.

Another version of nvcc may give other PTX: the check is left out (exit status 77) where the version
is not the one that the committed PTX names.
"""
import argparse
import io
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ARCHIVE = HERE / 'ptx.tar.xz'
WITH_LINES = (HERE / 'example',)  # findings name lines of the CUDA source
OTHER_COMPILER = 77

# Names of inlined functions, as bytes of a debug section, hold a hash of the path of the source.
BYTE = r'(?:\s*\.b8\s+|,\s*)'
HASH = re.compile(f"({''.join(f'{BYTE}{byte}' for byte in b'_INTERNAL_')})((?:{BYTE}\\d+){{8}})")


def version(nvcc):
    text = subprocess.run([nvcc, '--version'], check=True, capture_output=True, text=True).stdout
    return re.search(r'V(\d+\.\d+\.\d+)', text).group(1)


def head(source, compiler):
    return (f'// SPDX-License-Identifier: Apache-2.0\n'
            f'// Made from {source.name} by compile_ptx.py with nvcc {compiler}.\n')


def compiled(nvcc, source):
    """The PTX without nvcc's comments on itself, with names of files instead of paths, and without
    what depends on where the sources lie."""
    lines = ['-lineinfo'] if source.parent in WITH_LINES else []
    with tempfile.NamedTemporaryFile(suffix='.ptx') as file:
        subprocess.run([nvcc, '-std=c++20', '--expt-relaxed-constexpr', '-ptx', '-arch=compute_90a',
                        '--Werror=all-warnings', '-Xcompiler=-Wall', f'-I{HERE.parent}', *lines,
                        '-o', file.name, source], check=True)
        text = pathlib.Path(file.name).read_text()
    text = '\n'.join(line.rstrip() for line in text.splitlines()
                     if not line.lstrip().startswith('//'))
    text = re.sub(r'^(\s*\.file\s+\d+\s+)".*/([^/"]+)".*$', r'\1"\2"', text, flags=re.MULTILINE)
    text = HASH.sub(lambda match: match[1] + re.sub(r'(?<!b)\d+', '48', match[2]), text)
    return re.sub(r'\n{3,}', '\n\n', text).strip() + '\n'


def committed():
    """{name of a source: its PTX}."""
    with tarfile.open(ARCHIVE, 'r:xz') as archive:
        return {pathlib.PurePath(member.name).stem: archive.extractfile(member).read().decode()
                for member in archive}


def write(texts):
    """The same bytes for the same texts."""
    with tarfile.open(ARCHIVE, 'w:xz', preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for name, text in sorted(texts.items()):
            member = tarfile.TarInfo(f'{name}.ptx')
            member.size, member.mtime = len(text.encode()), 1
            archive.addfile(member, io.BytesIO(text.encode()))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--nvcc', required=True)
    parser.add_argument('--check', action='store_true')
    options = parser.parse_args()
    compiler = version(options.nvcc)
    sources = sorted(HERE.rglob('*.cu'))
    kept = committed() if options.check else {}
    if options.check and not any(kept.get(source.stem, '').startswith(head(source, compiler))
                                 for source in sources):
        print(f'NOT CHECKED: no file was made with nvcc {compiler}')
        return OTHER_COMPILER
    texts = {source.stem: head(source, compiler) + compiled(options.nvcc, source)
             for source in sources}
    if not options.check:
        write(texts)
        return 0
    stale = sorted(name for name in texts | kept if texts.get(name) != kept.get(name))
    for name in stale:
        print(f'{name}.ptx of {ARCHIVE.name} is not what its source gives: run compile_ptx.py')
    return 1 if stale else 0


if __name__ == '__main__':
    sys.exit(main())
