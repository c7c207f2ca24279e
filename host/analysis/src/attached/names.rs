//! Names for the addresses of a process, by its mappings.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::maps::Maps;
use crate::finding::{Frame, Name};
use crate::symbolize::{DebugDirs, Images};

/// Names of one process.
pub struct Names<'m> {
    maps: &'m Maps,
    root: PathBuf,
    images: Rc<Images>,
}

impl<'m> Names<'m> {
    /// The names in the process with these mappings, whose root directory is `root`.
    pub fn new(maps: &'m Maps, root: &Path) -> Self {
        Self::with_images(maps, root, &Images::new(DebugDirs::from_env()))
    }

    /// As [`Names::new`], with files that may be open already, as other processes run them, too.
    pub fn with_images(maps: &'m Maps, root: &Path, images: &Rc<Images>) -> Self {
        Self { maps, root: root.to_owned(), images: Rc::clone(images) }
    }

    /// The frames of a stack of [`super::Unwinder`], inlined calls included.
    pub fn stack(&self, addresses: &[u64]) -> Vec<Frame> {
        let at = |(index, &address): (usize, &u64)| self.frames(address, index > 0);
        addresses.iter().enumerate().flat_map(at).collect()
    }

    /// The frames at an address, which may be one that a call returns to.
    fn frames(&self, address: u64, is_return: bool) -> Vec<Frame> {
        let at = if is_return { address.saturating_sub(1) } else { address };
        let Some((_, module)) = self.maps.module(at) else {
            let path = self.maps.at(at).map(|mapping| mapping.path.clone());
            let module = path.filter(|path| !path.is_empty());
            return vec![Frame { offset: address, module, ..Frame::default() }];
        };
        let path = module.file(&self.root);
        let mut frames = self.images.frames(&path, &module.build_id, at.wrapping_sub(module.bias));
        for frame in &mut frames {
            frame.module = Some(module.path.clone());
            frame.offset = address.wrapping_sub(module.bias);
        }
        frames
    }

    /// The variable that covers an address.
    pub fn variable(&self, address: u64) -> Option<Name> {
        let (_, module) = self.maps.module(address)?;
        let path = module.file(&self.root);
        let name = self.images.variable(&path, &module.build_id, address.wrapping_sub(module.bias));
        name.map(Name::symbol)
    }
}
